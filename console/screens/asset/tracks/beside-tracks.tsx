import type { ReactNode } from 'react';
import { useSearchParams } from 'wouter';
import type { Asset } from '../../../api/assets';
import { Facts } from '../facts';
import { CueEditor } from './cue-editor';

/** Beside the player: the editor of the track that the address names. */
const BesideTracks = ({ asset }: { readonly asset: Asset }): ReactNode => {
  const [params] = useSearchParams();
  const trackId = params.get('cues');
  return trackId === null ? <Facts asset={asset} /> : <CueEditor asset={asset} trackId={trackId} />;
};
export default BesideTracks;
