import { type ReactNode, useSyncExternalStore } from 'react';
import type { Asset } from '../../../api/assets';
import { callLog, curlOf } from '../../../api/call-log';
import { CodeBlock } from '../../../ui/copy';
import { Section } from '../../../ui/page';

/** The asset as programs see it, and the calls that do what was done here. */
const Api = ({ asset }: { readonly asset: Asset }): ReactNode => {
  const calls = useSyncExternalStore(callLog.subscribe, callLog.get);
  const path = `/video/v1/assets/${asset.id}`;
  const own = calls.filter((call) => call.path.startsWith(path));
  return (
    <>
      <Section title="Read this asset">
        <CodeBlock text={curlOf({ method: 'GET', path })} what="the command" />
      </Section>
      {own.length > 0 && (
        <Section title="What you changed here">
          <div className="stack">
            {own.map((call, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: calls have no name, and the list only grows at its start.
              <div key={own.length - index}>
                <CodeBlock text={curlOf(call)} what={`call ${own.length - index}`} />
                {call.warning !== undefined && <p>Ignored: {call.warning}</p>}
              </div>
            ))}
          </div>
        </Section>
      )}
      <Section title="Raw JSON">
        <CodeBlock text={JSON.stringify(asset, undefined, 2)} what="the JSON" />
      </Section>
    </>
  );
};
export default Api;
