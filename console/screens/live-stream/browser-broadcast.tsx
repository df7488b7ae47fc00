import { type ReactNode, useEffect, useRef, useState } from 'react';
import { WhipPublisher } from '../../lib/whip-publisher';
import { Button } from '../../ui/button';
import { Section } from '../../ui/page';

const CAMERA: MediaStreamConstraints = {
  video: { width: { ideal: 1280 }, height: { ideal: 720 }, frameRate: { ideal: 30 } },
  audio: true,
};

const messageOf = (error: unknown): string => {
  const name = error instanceof Error ? error.name : '';
  if (name === 'NotAllowedError') return 'The browser does not allow it.';
  if (name === 'NotFoundError') return 'This computer has no camera or no microphone.';
  return error instanceof Error ? error.message : 'The broadcast could not be started.';
};

/** Broadcasts the camera or the screen of this computer. It ends when the page is left. */
export const BrowserBroadcast = ({ streamKey }: { readonly streamKey: string }): ReactNode => {
  const [media, setMedia] = useState<MediaStream>();
  const [isStarting, setStarting] = useState(false);
  const [problem, setProblem] = useState('');
  const publisher = useRef<WhipPublisher>(undefined);
  const preview = useRef<HTMLVideoElement>(null);

  const stop = (): void => {
    publisher.current?.stop();
    publisher.current = undefined;
    setMedia(undefined);
  };
  useEffect(() => () => publisher.current?.stop(), []);
  useEffect(() => {
    if (preview.current) preview.current.srcObject = media ?? null;
  }, [media]);

  const start = async (open: () => Promise<MediaStream>): Promise<void> => {
    setProblem('');
    setStarting(true);
    try {
      const opened = await open();
      publisher.current = new WhipPublisher(opened, stop);
      await publisher.current.start(streamKey);
      setMedia(opened);
    } catch (error) {
      stop();
      setProblem(messageOf(error));
    } finally {
      setStarting(false);
    }
  };

  const devices: MediaDevices | undefined = navigator.mediaDevices;
  return (
    <Section
      title="Or from this browser"
      actions={
        media ? (
          <Button onClick={stop}>Stop sending</Button>
        ) : (
          devices && (
            <>
              <Button isBusy={isStarting} onClick={() => void start(() => devices.getUserMedia(CAMERA))}>
                Camera
              </Button>
              <Button
                isBusy={isStarting}
                onClick={() => void start(() => devices.getDisplayMedia({ video: true, audio: true }))}
              >
                Screen
              </Button>
            </>
          )
        )
      }
    >
      <div className="stack">
        {!devices && <p>Browsers open cameras only on pages with HTTPS, and on localhost.</p>}
        {devices && !media && <p>The broadcast ends when you leave this page.</p>}
        {problem !== '' && (
          <p className="notice notice-warning" role="alert">
            {problem}
          </p>
        )}
        {media && (
          <video ref={preview} className="broadcast-preview" autoPlay muted playsInline aria-label="What you send" />
        )}
      </div>
    </Section>
  );
};
