import { Captions, X } from 'lucide-react';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useSearchParams } from 'wouter';
import { type Asset, assetQuery } from '../../../api/assets';
import { queryClient } from '../../../api/query-client';
import { type Cue, cuesQuery, replaceCues } from '../../../api/tracks';
import { moveCue, problemOf } from '../../../lib/cues';
import { Button, IconButton } from '../../../ui/button';
import { confirm } from '../../../ui/confirm';
import { Loaded } from '../../../ui/page';
import { useAction } from '../../../ui/use-action';
import { usePlayer } from '../player';
import { stepOf } from './cue-fields';
import { CueList } from './cue-list';
import { useCuePreview } from './use-cue-preview';
import { type EditedCue, keepUnsaved, moveSaved, useCues } from './use-cues';

/** A seek to exactly the start of a cue may end just before it. */
const INSIDE_SECONDS = 0.001;
const NEW_CUE_SECONDS = 2;

interface CueEditorProps {
  readonly asset: Asset;
  readonly trackId: string;
}

/** Edits the cues of a text track beside the player, which shows them as they will be. */
export const CueEditor = ({ asset, trackId }: CueEditorProps): ReactNode => {
  const name = asset.tracks?.find(({ id }) => id === trackId)?.name ?? 'text track';
  return (
    <section className="tool" aria-label={`Cues of ${name}`}>
      <Loaded query={cuesQuery(asset.id, trackId)}>
        {(cues) => <Editor asset={asset} trackId={trackId} name={name} stored={cues} />}
      </Loaded>
    </section>
  );
};

interface EditorProps extends CueEditorProps {
  readonly name: string;
  readonly stored: readonly Cue[];
}

const Editor = ({ asset, trackId, name, stored }: EditorProps): ReactNode => {
  const { video, reload } = usePlayer();
  const [, setParams] = useSearchParams();
  const { cues, isChanged, isSaving, isAllSent, change, add, remove, discard, send } = useCues(trackId, stored);
  const [chosen, setChosen] = useState(cues[0]?.key);
  // The editor stays when the address names another track.
  const selected = cues.some(({ key }) => key === chosen) ? chosen : cues[0]?.key;
  const root = useRef<HTMLDivElement>(null);
  const duration = asset.duration ?? Number.POSITIVE_INFINITY;
  useCuePreview(video, cues);

  const seek = ({ start_time: start }: Cue): void => {
    if (video) video.currentTime = start + INSIDE_SECONDS;
  };
  const select = (cue: EditedCue): void => {
    setChosen(cue.key);
    seek(cue);
  };
  const edit = (cue: EditedCue, values: Partial<Cue>): void => {
    change(cue.key, values);
    if (values.start_time !== undefined) seek({ ...cue, ...values });
  };
  const save = useAction(({ from, edited }: Saving) => replaceCues(asset.id, from, edited.map(toCue)), {
    done: 'Saved the cues.',
    refresh: [['asset', asset.id]],
    // All at once: before the asset is loaded again, the editor may be closed, or more may be
    // saved.
    onDone: (track, { from, edited }) => {
      queryClient.setQueryData(cuesQuery(asset.id, track.id).queryKey, edited.map(toCue));
      queryClient.setQueryData(assetQuery(asset.id).queryKey, (cachedAsset) =>
        cachedAsset?.tracks
          ? { ...cachedAsset, tracks: cachedAsset.tracks.map((each) => (each.id === from ? track : each)) }
          : cachedAsset,
      );
      moveSaved(from, track.id, edited);
      // Its editor may have been closed, and opened again.
      const isOpen = new URLSearchParams(window.location.search).get('cues') === from;
      if (isOpen) setParams({ cues: track.id }, { replace: true });
      reload();
    },
    onFailed: ({ from }) => keepUnsaved(from),
  });
  const submit = (): void => {
    const wrong = cues.find(problemOf);
    if (wrong) select(wrong);
    if (wrong || isSaving || !isChanged || cues.length === 0) return;
    send();
    save.mutate({ from: trackId, edited: cues });
  };
  const close = async (): Promise<void> => {
    const question = {
      title: 'Discard the changes?',
      text: `The cues of ${name} stay as they were.`,
      action: 'Discard',
    };
    // If saving fails, the changes are there when the editor is opened again.
    if (isChanged && !isAllSent) {
      if (!(await confirm(question))) return;
      discard();
    }
    setParams({});
    // It shows the stored text tracks again.
    reload();
  };
  const addAtPlayer = (): void => {
    const start = Math.round(Math.min(video?.currentTime ?? 0, duration - 0.5) * 1000) / 1000;
    const end = Math.round(Math.min(start + NEW_CUE_SECONDS, duration) * 1000) / 1000;
    select(add({ start_time: start, end_time: end, settings: '', text: '' }));
  };
  const play = (cue: Cue): void => {
    seek(cue);
    video?.play().catch(() => undefined);
  };

  useEditorKeys(root, {
    move: (seconds) => {
      const cue = cues.find(({ key }) => key === selected);
      if (cue) edit(cue, moveCue(cue, seconds, duration));
    },
    save: submit,
    close: () => void close(),
  });

  return (
    <div ref={root} className="tool-body">
      <div className="tool-head">
        <h2>Cues of {name}</h2>
        <IconButton label="Close the editor" icon={<X aria-hidden />} onClick={() => void close()} />
      </div>
      <CueKeys />
      <CueList
        cues={cues}
        selected={selected}
        video={video}
        duration={duration}
        onSelect={select}
        onChange={edit}
        onPlay={play}
        onDelete={(cue) => remove(cue.key)}
      />
      <div className="form-actions">
        <Button look="primary" disabled={!isChanged || cues.length === 0} isBusy={isSaving} onClick={submit}>
          Save
        </Button>
        {isChanged && <Button onClick={discard}>Discard changes</Button>}
        <Button onClick={addAtPlayer}>
          <Captions aria-hidden />
          Add a cue here
        </Button>
      </div>
      {cues.length === 0 && (
        <p className="field-hint">A text track has at least one cue. To remove all, delete the track.</p>
      )}
    </div>
  );
};

interface Saving {
  /** The track that is replaced. */
  readonly from: string;
  readonly edited: readonly EditedCue[];
}

const toCue = ({ key: _, ...cue }: EditedCue): Cue => cue;

const CueKeys = (): ReactNode => (
  <p className="field-hint key-hint">
    <kbd>↑</kbd> <kbd>↓</kbd> choose a cue. <kbd>Alt</kbd> <kbd>↑</kbd> <kbd>↓</kbd> move it 0.1 s later or earlier,
    with <kbd>Shift</kbd> 0.5 s. <kbd>Ctrl</kbd> <kbd>S</kbd> saves, <kbd>Esc</kbd> closes.
  </p>
);

interface Keys {
  readonly move: (seconds: number) => void;
  readonly save: () => void;
  readonly close: () => void;
}

/** Keys that work everywhere in the editor. */
const useEditorKeys = (root: { readonly current: HTMLElement | null }, keys: Keys): void => {
  const latest = useRef(keys);
  useEffect(() => {
    latest.current = keys;
  });
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      const { key, altKey, ctrlKey, metaKey } = event;
      const isArrow = key === 'ArrowUp' || key === 'ArrowDown';
      const isSave = (ctrlKey || metaKey) && !altKey && key.toLowerCase() === 's';
      if (!isSave && !(altKey && isArrow) && key !== 'Escape') return;
      event.preventDefault();
      if (isSave) latest.current.save();
      else if (key === 'Escape') latest.current.close();
      else latest.current.move(key === 'ArrowUp' ? stepOf(event) : -stepOf(event));
    };
    const element = root.current;
    element?.addEventListener('keydown', listen);
    return () => element?.removeEventListener('keydown', listen);
  }, [root]);
};
