/** A frame in the image of a storyboard. Times in seconds, sizes in pixels. */
export interface Tile {
  readonly startSeconds: number;
  readonly url: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

const secondsOf = (text: string): number => text.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);

/** The tiles of a WebVTT file whose cues name a part of an image (`#xywh=`). */
export const parseStoryboard = (text: string, base: string): Tile[] =>
  [...text.matchAll(/^([\d:.]+) --> .*\r?\n(.+)#xywh=(\d+),(\d+),(\d+),(\d+)/gm)].map(([, start, url, ...box]) => {
    const [x, y, width, height] = box.map(Number) as [number, number, number, number];
    return { startSeconds: secondsOf(start!), url: new URL(url!, base).href, x, y, width, height };
  });
