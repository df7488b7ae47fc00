import { expect } from 'vitest';

/**
 * The storyboards of a playback ID point to its sprite sheet below `base`, whatever host was asked.
 */
export const expectStoryboardAt = async (server: { readonly url: string }, id: string, base: string): Promise<void> => {
  const read = async (type: string) => (await fetch(`${server.url}/${id}/storyboard.${type}`)).text();
  const sheet = `${base}/${id}/storyboard.jpg`;
  expect(JSON.parse(await read('json'))).toMatchObject({ url: sheet });
  expect(new Set((await read('vtt')).match(/^\S+(?=#xywh)/gm))).toEqual(new Set([sheet]));
};
