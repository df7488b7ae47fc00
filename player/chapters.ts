import type { MediaPlayerElement } from 'vidstack/elements';

interface Item {
  readonly 'start-time': number;
  readonly chapter?: number;
  readonly titles: readonly { readonly title: string }[];
}

/** Adds the chapters to the player's menu and time slider. The video plays without them, so a failure is not shown. */
export const addChapters = async (player: MediaPlayerElement, url: string): Promise<void> => {
  const answer = await fetch(url);
  const items = ((await answer.json()) as Item[]).filter(({ chapter }) => chapter !== undefined);
  const cues = items.map(({ 'start-time': startTime, titles }, index) => ({
    startTime,
    endTime: items[index + 1]?.['start-time'] ?? player.state.duration,
    text: titles[0]!.title,
  }));
  if (cues.length === 0) return;
  player.textTracks.add({ kind: 'chapters', type: 'json', default: true, label: 'Chapters', content: { cues } });
};
