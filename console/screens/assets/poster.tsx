import { AudioLines, Film, Lock } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import type { ListedAsset } from '../../api/assets';
import { useSession } from '../../api/session';

/** A small image of the asset; a sign, when it has none that everyone may see. */
export const Poster = ({ asset }: { readonly asset: ListedAsset }): ReactNode => {
  const { image_url: base } = useSession();
  const [failed, setFailed] = useState<string>();
  const { poster_playback_id: playbackId, status, resolution_tier: tier, thumbnail_time: time } = asset;
  const hasImage = status === 'ready' && tier !== 'audio-only' && playbackId && failed !== playbackId;
  if (hasImage) {
    return (
      <img
        className="poster"
        src={`${base}/${playbackId}/thumbnail.webp?width=192&height=108&fit_mode=pad${time === undefined ? '' : `&time=${time}`}`}
        alt=""
        width="96"
        height="54"
        loading="lazy"
        decoding="async"
        onError={() => setFailed(playbackId)}
      />
    );
  }
  const isPrivate = (asset.playback_ids ?? []).length > 0 && !playbackId;
  const Icon = tier === 'audio-only' ? AudioLines : isPrivate ? Lock : Film;
  return (
    <span className="poster">
      <Icon aria-hidden />
    </span>
  );
};
