import { ChevronDown, ChevronUp, Pause, Play, X } from 'lucide-react';
import { type ReactNode, useEffect, useState, useSyncExternalStore } from 'react';
import { useSession } from '../api/session';
import { Button, IconButton } from '../ui/button';
import { isUploading, pauseAll, recallInterrupted, removeUpload, resumeAll, uploads } from './queue';
import { UploadRow } from './upload-row';
import { useOutcomes } from './use-outcomes';

const summaryOf = (states: readonly string[]): string => {
  const count = (...countedStates: readonly string[]): number =>
    states.filter((state) => countedStates.includes(state)).length;
  const parts = [
    [count('uploading', 'queued'), 'uploading'],
    [count('paused'), 'paused'],
    [count('interrupted'), 'interrupted'],
    [count('failed', 'errored'), 'failed'],
    [count('preparing'), 'preparing'],
    [count('ready'), 'ready'],
  ] as const;
  return parts
    .filter(([number]) => number > 0)
    .map(([number, text]) => `${number} ${text}`)
    .join(', ');
};

/** What is being uploaded and what becomes of it, in the corner of every screen. */
export const UploadTray = (): ReactNode => {
  const { environment } = useSession();
  const items = useSyncExternalStore(uploads.subscribe, uploads.get);
  const [isOpen, setOpen] = useState(true);
  const outcomes = useOutcomes(items);
  useEffect(() => recallInterrupted(environment.id), [environment.id]);
  useEffect(() => {
    const warn = (event: BeforeUnloadEvent): void => {
      if (isUploading()) event.preventDefault();
    };
    window.addEventListener('beforeunload', warn);
    return () => window.removeEventListener('beforeunload', warn);
  }, []);
  if (items.length === 0) return null;
  const states = items.map(({ state }) => state);
  const hide = (isHidden: (key: string) => boolean): void => {
    for (const { key } of items) if (isHidden(key)) removeUpload(key);
  };
  const isReady = (key: string): boolean => outcomes.get(key)?.status === 'ready';
  const isActive = states.includes('uploading') || states.includes('queued');
  const isStopped = states.includes('paused') || states.includes('failed');
  return (
    <section className="tray" aria-label="Uploads">
      <div className="tray-head">
        <h2 aria-live="polite">{summaryOf(items.map(({ key, state }) => outcomes.get(key)?.status ?? state))}</h2>
        {isActive && <IconButton label="Pause all" icon={<Pause aria-hidden />} onClick={pauseAll} />}
        {!isActive && isStopped && <IconButton label="Resume all" icon={<Play aria-hidden />} onClick={resumeAll} />}
        <IconButton
          label={isOpen ? 'Show less' : 'Show more'}
          aria-expanded={isOpen}
          icon={isOpen ? <ChevronDown aria-hidden /> : <ChevronUp aria-hidden />}
          onClick={() => setOpen(!isOpen)}
        />
        {states.every((state) => state === 'sent') && (
          <IconButton label="Close" icon={<X aria-hidden />} onClick={() => hide(() => true)} />
        )}
      </div>
      {isOpen && (
        <>
          <ul className="tray-list">
            {items.map((item) => (
              <UploadRow key={item.key} item={item} outcome={outcomes.get(item.key)} />
            ))}
          </ul>
          {items.some(({ key }) => isReady(key)) && !items.every(({ key }) => isReady(key)) && (
            <div className="tray-foot">
              <Button look="quiet" onClick={() => hide(isReady)}>
                Hide those that are ready
              </Button>
            </div>
          )}
        </>
      )}
    </section>
  );
};
