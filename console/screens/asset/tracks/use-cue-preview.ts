import { useEffect, useRef } from 'react';
import type { Cue } from '../../../api/tracks';

interface Shown {
  readonly of: Cue;
  readonly cue: VTTCue;
}

/** Puts the settings of a WebVTT cue on the cue of a browser. */
const applySettings = (cue: VTTCue, settings: string): void => {
  const values = Object.fromEntries(settings.split(' ').map((part) => part.split(':', 2)));
  const [line = ''] = (values.line ?? '').split(',');
  if (values.vertical === 'rl' || values.vertical === 'lr') cue.vertical = values.vertical;
  if (line !== '') {
    cue.snapToLines = !line.endsWith('%');
    cue.line = Number.parseFloat(line);
  }
  if (values.position) cue.position = Number.parseFloat(values.position);
  if (values.size) cue.size = Number.parseFloat(values.size);
  if (/^(start|center|end|left|right)$/.test(values.align ?? '')) cue.align = values.align as AlignSetting;
};

/** Shows the cues in the player as they are edited, in place of the stored text tracks. */
export const useCuePreview = (
  video: HTMLVideoElement | undefined,
  cues: readonly (Cue & { readonly key: number })[],
): void => {
  const track = useRef<TextTrack>(undefined);
  const displayed = useRef(new Map<number, Shown>());

  useEffect(() => {
    if (!video) return;
    // Without a label hls.js leaves it alone.
    const preview = video.addTextTrack('captions');
    const { textTracks } = video;
    const showOnlyPreview = (): void => {
      for (const other of textTracks) if (other !== preview && other.mode === 'showing') other.mode = 'disabled';
      if (preview.mode !== 'showing') preview.mode = 'showing';
    };
    for (const event of ['addtrack', 'change']) textTracks.addEventListener(event, showOnlyPreview);
    showOnlyPreview();
    track.current = preview;
    return () => {
      for (const event of ['addtrack', 'change']) textTracks.removeEventListener(event, showOnlyPreview);
      preview.mode = 'disabled';
      track.current = undefined;
      displayed.current.clear();
    };
  }, [video]);

  useEffect(() => {
    const shownCues = displayed.current;
    const shownBy = track.current;
    const Cue = (video?.ownerDocument.defaultView as (Window & typeof globalThis) | null | undefined)?.VTTCue;
    if (!shownBy || !Cue) return;
    const cuesByKey = new Map(cues.map((cue) => [cue.key, cue]));
    for (const [key, { of, cue }] of shownCues) {
      if (cuesByKey.get(key) === of) continue;
      shownBy.removeCue(cue);
      shownCues.delete(key);
    }
    for (const [key, of] of cuesByKey) {
      if (shownCues.has(key) || of.end_time <= of.start_time) continue;
      const cue = new Cue(of.start_time, of.end_time, of.text);
      applySettings(cue, of.settings);
      shownBy.addCue(cue);
      shownCues.set(key, { of, cue });
    }
  }, [video, cues]);
};
