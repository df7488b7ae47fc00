import { element } from './page-data.js';
import { parseStoryboard, type Tile } from './storyboard.js';

const load = async (url: string): Promise<Tile[]> => {
  const answer = await fetch(url);
  return answer.ok ? parseStoryboard(await answer.text(), answer.url) : [];
};

/**
 * Returns a function that shows the frame at a time. The storyboard is made and loaded when it is needed first; the video
 * plays without it.
 */
export const createPreviews = (url: string): ((seconds: number) => Promise<void>) => {
  let tiles: Promise<Tile[]> | undefined;
  return async (seconds) => {
    if (url === '') return;
    tiles ??= load(url).catch(() => []);
    const tile = (await tiles).findLast(({ startSeconds }) => startSeconds <= seconds);
    if (!tile) return;
    Object.assign(element('preview-image').style, {
      width: `${tile.width}px`,
      height: `${tile.height}px`,
      backgroundImage: `url("${tile.url}")`,
      backgroundPosition: `-${tile.x}px -${tile.y}px`,
    });
  };
};
