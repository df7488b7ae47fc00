import { element } from './page-data.js';
import { parseStoryboard, type Tile } from './storyboard.js';

/**
 * The tiles, when their image can be shown. The server makes the image when it is asked for first,
 * which may take seconds.
 */
const load = async (url: string): Promise<Tile[]> => {
  const response = await fetch(url);
  const tiles = response.ok ? parseStoryboard(await response.text(), response.url) : [];
  for (const sheet of new Set(tiles.map((tile) => tile.url))) await Object.assign(new Image(), { src: sheet }).decode();
  return tiles;
};

/**
 * Returns a function that shows the frame at a time as soon as there is one; until then the time
 * stands alone. The storyboard is loaded when it is needed first; the video plays without it.
 */
export const createPreviews = (url: string): ((seconds: number) => Promise<void>) => {
  let tiles: Promise<Tile[]> | undefined;
  let wantedTime = 0;
  return async (seconds) => {
    if (url === '') return;
    wantedTime = seconds;
    tiles ??= load(url).catch(() => []);
    const tile = (await tiles).findLast(({ startSeconds }) => startSeconds <= wantedTime);
    if (!tile) return;
    const image = element('preview-image');
    image.hidden = false;
    Object.assign(image.style, {
      width: `${tile.width}px`,
      height: `${tile.height}px`,
      backgroundImage: `url("${tile.url}")`,
      backgroundPosition: `-${tile.x}px -${tile.y}px`,
    });
  };
};
