import { type ReactNode, useState } from 'react';
import { type LiveStreamDetails, liveStreamKeys, resetStreamKey } from '../../api/live-streams';
import { usePermission } from '../../api/session';
import { HIDDEN } from '../../lib/shown-json';
import { Button } from '../../ui/button';
import { confirm } from '../../ui/confirm';
import { CodeBlock } from '../../ui/copy';
import { Section } from '../../ui/page';
import { useAction } from '../../ui/use-action';
import { BrowserBroadcast } from './browser-broadcast';

const command = (url: string, key: string): string =>
  [
    'ffmpeg -re -i video.mp4 -c:v libx264 -preset veryfast -pix_fmt yuv420p',
    "-force_key_frames 'expr:gte(t,n_forced*2)' -c:a aac -b:a 128k",
    `-f flv ${url}/${key}`,
  ].join(' \\\n  ');

/** What OBS and others are told, and what they should send. */
const advice = [
  ['Key frame interval', '2 seconds'],
  ['Video', 'H.264, profile main or high'],
  ['Audio', 'AAC, 44.1 or 48 kHz'],
  ['Bit rate', 'at most half of your uplink'],
] as const;

/** Where an encoder sends, and with which key. */
const Encoder = ({ stream }: { readonly stream: LiveStreamDetails }): ReactNode => {
  const { id, stream_key: key, ingest_urls: servers, srt_url: srtUrl } = stream;
  const mayWrite = usePermission('video:write');
  const [isShown, setShown] = useState(false);
  const reset = useAction(() => resetStreamKey(id), {
    done: 'The live stream has a new key.',
    refresh: liveStreamKeys(id),
  });
  const ask = async (): Promise<void> => {
    const isConfirmed = await confirm({
      title: 'Reset the stream key?',
      text: 'The encoder that uses the old key is disconnected at once. It needs the new one.',
      action: 'Reset',
    });
    if (isConfirmed) reset.mutate(undefined);
  };
  const [server] = servers;
  const hidden = (text: string): string | undefined => (isShown ? undefined : text);
  return (
    <>
      <Section
        title="Connect"
        actions={
          <>
            <Button onClick={() => setShown(!isShown)}>{isShown ? 'Hide the key' : 'Show the key'}</Button>
            {mayWrite && (
              <Button isBusy={reset.isPending} onClick={() => void ask()}>
                Reset the key
              </Button>
            )}
          </>
        }
      >
        <div className="stack">
          {server === undefined && srtUrl === undefined && (
            <p className="notice notice-warning">
              This server receives no encoders. Its log says why, such as that the port of RTMP is taken or off.
            </p>
          )}
          {server !== undefined && (
            <p>
              In OBS, open Settings, Stream, choose the service “Custom…”, and enter these two. Other encoders call the
              server “URL” and the key “stream name”.
            </p>
          )}
          {servers.map((url) => (
            <CodeBlock
              key={url}
              text={url}
              what={url === server ? 'server' : 'server without encryption'}
              title={url === server ? 'Server' : 'Server without encryption'}
            />
          ))}
          <CodeBlock text={key} shown={hidden(HIDDEN)} what="stream key" title="Stream key" />
          {srtUrl !== undefined && (
            <CodeBlock
              text={srtUrl}
              shown={hidden(srtUrl.replace(/=[^&]+/g, `=${HIDDEN}`))}
              what="SRT URL"
              title="Or by SRT: server with stream key and passphrase"
            />
          )}
        </div>
      </Section>
      {server !== undefined && (
        <Section title="Or with ffmpeg">
          <div className="stack">
            <CodeBlock text={command(server, key)} shown={hidden(command(server, HIDDEN))} what="ffmpeg command" />
          </div>
        </Section>
      )}
      {mayWrite && <BrowserBroadcast streamKey={key} />}
      <Section title="Set the encoder">
        <dl className="facts-list">
          {advice.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      </Section>
    </>
  );
};
export default Encoder;
