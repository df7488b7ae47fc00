import { ChevronLeft, ChevronRight } from 'lucide-react';
import type { ReactNode } from 'react';
import { type Asset, updateAsset } from '../../../api/assets';
import { usePermission } from '../../../api/session';
import { formatCueTime } from '../../../lib/cues';
import { Button } from '../../../ui/button';
import { useAction } from '../../../ui/use-action';
import { useShortcut } from '../../../ui/use-shortcut';
import { Facts } from '../facts';
import { usePlayer } from '../player';
import { hasVideo } from './has-video';
import { useClipTimes } from './use-clip-times';
import { frameSecondsOf, timesOf, useFrame } from './use-frame';

/** Beside the player: finds a frame, and makes it the poster or an end of a clip. */
const FrameTool = ({ asset }: { readonly asset: Asset }): ReactNode => {
  const mayWrite = usePermission('video:write');
  return mayWrite && hasVideo(asset) ? <Tool asset={asset} /> : <Facts asset={asset} />;
};
export default FrameTool;

const Tool = ({ asset }: { readonly asset: Asset }): ReactNode => {
  const { video } = usePlayer();
  const frameSeconds = frameSecondsOf(asset);
  const { startSeconds, goTo, step } = useFrame(video, frameSeconds);
  const [clip, setClip] = useClipTimes();
  const times = timesOf(startSeconds, frameSeconds);
  const setPoster = useAction((seconds: number) => updateAsset(asset.id, { thumbnail_time: seconds }), {
    done: 'This frame is the poster now.',
    refresh: [
      ['asset', asset.id],
      ['asset', 'list'],
    ],
  });
  const setStart = (): void => setClip({ start: times.clipStart });
  const setEnd = (): void => setClip({ end: times.clipEnd });
  useShortcut(',', () => step(-1));
  useShortcut('.', () => step(1));
  useShortcut('i', setStart);
  useShortcut('o', setEnd);
  const last = Math.max(0, Math.round((asset.duration ?? 0) / frameSeconds) - 1);
  return (
    <section className="tool" aria-label="Frame">
      <h2>Frame</h2>
      <div className="field">
        <div className="frame-label">
          <label className="field-label" htmlFor="frame">
            Time
          </label>
          <output className="cue-time">{formatCueTime(startSeconds)}</output>
        </div>
        <input
          id="frame"
          type="range"
          className="slider"
          min={0}
          max={last}
          step={1}
          // Whole numbers: browsers round others, and React would take that for a change.
          value={Math.min(Math.round(startSeconds / frameSeconds), last)}
          disabled={!video}
          aria-valuetext={formatCueTime(startSeconds)}
          onChange={({ target }) => goTo(Number(target.value) * frameSeconds)}
        />
      </div>
      <div className="form-actions">
        <Button disabled={!video} aria-keyshortcuts="," onClick={() => step(-1)}>
          <ChevronLeft aria-hidden />
          Previous frame
        </Button>
        <Button disabled={!video} aria-keyshortcuts="." onClick={() => step(1)}>
          Next frame
          <ChevronRight aria-hidden />
        </Button>
      </div>
      <div className="form-actions">
        <Button
          look="primary"
          disabled={!video}
          isBusy={setPoster.isPending}
          onClick={() => setPoster.mutate(Math.min(times.poster, asset.duration ?? times.poster))}
        >
          Use as the poster
        </Button>
        <Button disabled={!video} aria-keyshortcuts="i" onClick={setStart}>
          Start the clip here
        </Button>
        <Button disabled={!video} aria-keyshortcuts="o" onClick={setEnd}>
          End the clip here
        </Button>
      </div>
      <p className="field-hint">
        <span className="key-hint">
          <kbd>,</kbd> <kbd>.</kbd> go to the previous and the next frame. <kbd>I</kbd> and <kbd>O</kbd> start and end
          the clip at this frame.{' '}
        </span>
        The clip includes the frames at which it starts and ends.
      </p>
      <p className="field-hint" role="status">
        {clip.start !== undefined && `The clip starts at ${formatCueTime(clip.start)}. `}
        {clip.end !== undefined && `It ends at ${formatCueTime(clip.end)}.`}
      </p>
    </section>
  );
};
