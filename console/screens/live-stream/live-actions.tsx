import type { ReactNode } from 'react';
import { useLocation } from 'wouter';
import { titleOf } from '../../api/assets';
import { deleteLiveStream, type LiveStream, liveStreamKeys, setLiveState } from '../../api/live-streams';
import { Button } from '../../ui/button';
import { confirm } from '../../ui/confirm';
import { useAction } from '../../ui/use-action';

const done = {
  complete: 'The broadcast is complete.',
  disable: 'The live stream is disabled.',
  enable: 'The live stream is enabled.',
} as const;

/** What can be done with a live stream as a whole. */
export const LiveActions = ({ stream }: { readonly stream: LiveStream }): ReactNode => {
  const [, navigate] = useLocation();
  const { id, status } = stream;
  const isOnAir = stream.active_asset_id !== undefined;
  const change = useAction(
    async (action: keyof typeof done) => {
      await setLiveState(id, action);
      return action;
    },
    { done: (action) => done[action], refresh: liveStreamKeys(id) },
  );
  const remove = useAction(() => deleteLiveStream(id), {
    done: `Deleted “${titleOf(stream)}”.`,
    onDone: () => navigate('/live'),
    refresh: [['live_stream', 'list']],
  });
  const ask = async (question: Parameters<typeof confirm>[0], act: () => void): Promise<void> => {
    if (await confirm(question)) act();
  };
  const complete = (): Promise<void> =>
    ask(
      {
        title: 'End the broadcast?',
        text: 'Players stop at its end, and the recording is complete. An encoder that goes on sending is disconnected within a minute.',
        action: 'End the broadcast',
      },
      () => change.mutate('complete'),
    );
  const disable = (): Promise<void> =>
    ask(
      {
        title: 'Disable this live stream?',
        text: `Encoders are refused until you enable it. ${isOnAir ? 'The broadcast ends now.' : 'Recordings stay.'}`,
        action: 'Disable',
      },
      () => change.mutate('disable'),
    );
  const askToRemove = (): Promise<void> =>
    ask(
      {
        title: `Delete “${titleOf(stream)}”?`,
        text: `${isOnAir ? 'The broadcast ends now. ' : ''}Its stream key and playback IDs stop working. Recordings stay. This cannot be undone.`,
        action: 'Delete',
      },
      () => remove.mutate(undefined),
    );
  return (
    <>
      {isOnAir && (
        <Button isBusy={change.isPending} onClick={() => void complete()}>
          End the broadcast
        </Button>
      )}
      {status === 'disabled' ? (
        <Button isBusy={change.isPending} onClick={() => change.mutate('enable')}>
          Enable
        </Button>
      ) : (
        <Button isBusy={change.isPending} onClick={() => void disable()}>
          Disable
        </Button>
      )}
      <Button look="delete" isBusy={remove.isPending} onClick={() => void askToRemove()}>
        Delete
      </Button>
    </>
  );
};
