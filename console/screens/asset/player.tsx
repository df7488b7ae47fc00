import { createContext, type ReactNode, useCallback, useContext, useMemo, useRef, useState } from 'react';

/** The player of the asset's screen, for what works beside it. */
interface Player {
  /** Undefined until the player has loaded, and while there is none. */
  readonly video: HTMLVideoElement | undefined;
  /**
   * Loads the player again, at the same time of the video: the tracks of the asset are different
   * ones.
   */
  reload(): void;
}

interface PlayerSlot extends Player {
  attach(frame: HTMLIFrameElement): void;
}

const PlayerContext = createContext<PlayerSlot | undefined>(undefined);

const usePlayerSlot = (): PlayerSlot => {
  const slot = useContext(PlayerContext);
  if (!slot) throw new Error('There is no PlayerProvider.');
  return slot;
};

export const usePlayer = (): Player => usePlayerSlot();

export const PlayerProvider = ({ children }: { readonly children: ReactNode }): ReactNode => {
  const [video, setVideo] = useState<HTMLVideoElement>();
  const frame = useRef<HTMLIFrameElement>(null);
  const startSeconds = useRef(0);
  const attach = useCallback((loaded: HTMLIFrameElement) => {
    frame.current = loaded;
    // The player page comes from this server, so its elements can be reached.
    const element = loaded.contentDocument?.querySelector('video') ?? undefined;
    const start = startSeconds.current;
    startSeconds.current = 0;
    if (element && start > 0) {
      const seek = (): void => {
        element.currentTime = start;
      };
      if (element.readyState > 0) seek();
      else element.addEventListener('loadedmetadata', seek, { once: true });
    }
    setVideo(element);
  }, []);
  const reload = useCallback(() => {
    if (!frame.current?.isConnected) return;
    startSeconds.current = frame.current.contentDocument?.querySelector('video')?.currentTime ?? 0;
    setVideo(undefined);
    frame.current.contentWindow?.location.reload();
  }, []);
  const slot = useMemo(() => ({ video, reload, attach }), [video, reload, attach]);
  return <PlayerContext value={slot}>{children}</PlayerContext>;
};

/** The player page, from the console's own origin. Whoever looks at it here is no viewer. */
export const PlayerFrame = ({ url, title }: { readonly url: string; readonly title: string }): ReactNode => {
  const { attach } = usePlayerSlot();
  return (
    <iframe
      className="stage"
      src={`${url}${url.includes('?') ? '&' : '?'}tracking=false`}
      title={`Player of ${title}`}
      allow="autoplay; fullscreen; picture-in-picture; encrypted-media"
      onLoad={({ currentTarget }) => attach(currentTarget)}
    />
  );
};
