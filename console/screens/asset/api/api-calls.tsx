import { type ReactNode, useSyncExternalStore } from 'react';
import { callLog, curlOf } from '../../../api/call-log';
import { shownJson } from '../../../lib/shown-json';
import { CodeBlock } from '../../../ui/copy';
import { Section } from '../../../ui/page';

interface ApiCallsProps {
  /** What it is: "asset". */
  readonly what: string;
  /** Its address in the API. */
  readonly path: string;
  /** As the API answers. */
  readonly json: object;
}

/** A thing as programs see it, and the calls that do what was done here. */
export const ApiCalls = ({ what, path, json }: ApiCallsProps): ReactNode => {
  const calls = useSyncExternalStore(callLog.subscribe, callLog.get);
  const own = calls.filter((call) => call.path.startsWith(path));
  return (
    <>
      <Section title={`Read this ${what}`}>
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
        <CodeBlock text={shownJson(json)} what="the JSON" />
      </Section>
    </>
  );
};
