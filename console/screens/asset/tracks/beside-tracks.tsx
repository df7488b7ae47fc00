import type { ReactNode } from 'react';
import { useSearchParams } from 'wouter';
import type { Asset } from '../../../api/assets';
import { CueEditor } from './cue-editor';

/** Beside the player: the editor of the track that the address names. */
const BesideTracks = ({ asset }: { readonly asset: Asset }): ReactNode => {
  const [params] = useSearchParams();
  return <CueEditor asset={asset} trackId={params.get('cues')!} />;
};
export default BesideTracks;
