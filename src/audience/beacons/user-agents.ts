import Bowser from 'bowser';
import { LRUCache } from 'lru-cache';
import type { Dimension } from '../dimensions.js';

/** Longer ones are cut: some patterns take longer for them. */
export const MAX_USER_AGENT = 500;
const MAX_KNOWN = 1000;

/** As the API names them; others keep the name of the library. */
const CATEGORIES: Readonly<Record<string, string>> = { mobile: 'phone' };

/** Tells browser, operating system and device of `User-Agent` headers. */
export class UserAgents {
  readonly #known = new LRUCache<string, ReadonlyMap<Dimension, string>>({ max: MAX_KNOWN });

  /** Only what is known. */
  describe(header: string): ReadonlyMap<Dimension, string> {
    const text = header.slice(0, MAX_USER_AGENT);
    const cached = this.#known.get(text);
    if (cached) return cached;
    const described = describe(text);
    this.#known.set(text, described);
    return described;
  }
}

const describe = (text: string): ReadonlyMap<Dimension, string> => {
  // The library throws.
  if (text === '') return new Map();
  const { browser, os, platform } = Bowser.parse(text);
  const values: [Dimension, string | undefined][] = [
    ['browser', browser.name],
    ['browser_version', browser.version],
    ['operating_system', os.name],
    ['operating_system_version', os.name === 'Windows' ? (os.versionName ?? os.version) : os.version],
    ['viewer_device_category', platform.type && (CATEGORIES[platform.type] ?? platform.type)],
    ['viewer_device_manufacturer', platform.vendor],
    ['viewer_device_model', platform.model],
  ];
  return new Map(values.filter((pair): pair is [Dimension, string] => Boolean(pair[1])));
};
