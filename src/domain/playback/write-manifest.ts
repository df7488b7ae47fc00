import { AUDIO_RENDITION } from '../../media/plan/find-segment.js';
import { GENERATION } from '../../media/plan/generation.js';
import { type DashAudioTrack, type DashInput, dashManifest } from '../../media/playlist/dash.js';
import type { Access } from './access-check.js';
import type { PlayableFinder } from './playable-finder.js';
import {
  childName,
  listAudio,
  listText,
  type ReadyPlayable,
  readModifiers,
  renditionChild,
  writeQuery,
} from './write-playlist.js';

/**
 * The DASH manifest of a playback ID. Its addresses are those of the HLS playlists, with the same
 * signatures; `base` is as in `writeMultivariantPlaylist`, `keys` are those of a DRM playback ID.
 * @throws KinoraError `invalid_parameters`
 */
export const writeManifest = async (
  playable: ReadyPlayable,
  access: Access,
  playables: Pick<PlayableFinder, 'findAdditional'>,
  base: string,
  keys?: DashInput['keys'],
): Promise<string> => {
  const { plan, meta, listsAv1 } = playable;
  const modifiers = readModifiers(playable, access);
  return dashManifest({
    plan,
    title: meta.title,
    audioTracks: await listWholeAudio(playable, playables),
    textTracks: listText(playable),
    modifiers,
    listsAv1,
    // Previews are not encrypted, so those of a DRM playback ID are for tokens that ask for them,
    // as in HLS.
    hasPreviews: !playable.early && (playable.policy !== 'drm' || modifiers.rokuTrickPlay),
    keys,
    uri: (child, file) => {
      const segments = child.window && `${child.window.first}-${child.window.end}`;
      const rendition = childName(child);
      const signature = access.childQuery(renditionChild(GENERATION, rendition, segments));
      // Public segments have one address each, whichever clip they are part of; text and images are
      // cut themselves.
      const isSegment = child.kind === 'video' || child.kind === 'audio';
      const clip = (!isSegment || signature) && segments && `segments=${segments}`;
      return `${base}${GENERATION}/${rendition}/${file}${writeQuery([clip, signature])}`;
    },
  });
};

/** With the boundaries of alternate tracks. */
const listWholeAudio = async (
  playable: ReadyPlayable,
  playables: Pick<PlayableFinder, 'findAdditional'>,
): Promise<DashAudioTrack[]> => {
  const tracks = await Promise.all(
    listAudio(playable).map(async (track) => {
      const additional = await playables.findAdditional(playable, track.rendition);
      const audio =
        track.rendition === AUDIO_RENDITION ? playable.plan.audio : additional?.audio?.get(track.rendition)?.audio;
      // A track can be deleted meanwhile.
      return audio ? [{ ...track, audio }] : [];
    }),
  );
  return tracks.flat();
};
