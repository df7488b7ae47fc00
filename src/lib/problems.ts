import { KinoraError } from './errors.js';

/** A path in a body: `['inputs', 0, 'url']`. */
export type Path = readonly (string | number)[];

interface Problem {
  readonly path: Path;
  readonly message: string;
}

/** `inputs[0].url` */
export const formatPath = (path: Path): string =>
  path.map((part, at) => (typeof part === 'number' ? `[${part}]` : at === 0 ? part : `.${part}`)).join('');

/** Collects all problems of a request, so that the caller gets them in one response. */
export class Problems {
  readonly #found: Problem[];
  readonly #fields: Set<string>;
  readonly #base: Path;

  /** @param base the path in the body that all paths passed to this collection are relative to */
  constructor(base: Path = [], shared?: Problems) {
    this.#base = base;
    this.#found = shared ? shared.#found : [];
    this.#fields = shared ? shared.#fields : new Set();
  }

  /** Returns the same collection for code that uses paths relative to `base`. */
  below(base: Path): Problems {
    return new Problems([...this.#base, ...base], this);
  }

  /** Returns `inputs[0].url`, starting from the root of the body. */
  nameOf(path: Path): string {
    return formatPath([...this.#base, ...path]);
  }

  /** `{path} {complaint}` */
  add(path: Path, complaint: string): void {
    this.addSentence(path, `${this.nameOf(path)} ${complaint}`);
  }

  /** Adds a complete sentence; `path` only decides its place in the order. */
  addSentence(path: Path, message: string): void {
    this.#found.push({ path: [...this.#base, ...path], message });
    this.#fields.add(this.nameOf(path));
  }

  /** True when this exact field has a problem; rules about its value are then not checked. */
  has(path: Path): boolean {
    return this.#fields.has(this.nameOf(path));
  }

  /**
   * Throws one message per problem, in body order; missing fields come before existing siblings.
   * @throws KinoraError `invalid_parameters` when there is any problem
   */
  throwIfAny(body: unknown): void {
    if (this.#found.length === 0) return;
    const placeOf = placesIn(body);
    const placed = this.#found.map(({ path, message }) => ({ message, place: placeOf(path) }));
    placed.sort((a, b) => comparePositions(a.place, b.place));
    throw new KinoraError('invalid_parameters', { messages: placed.map(({ message }) => message) });
  }
}

/** Returns the position of each part of a path in the body; -1 for parts that are missing. */
const placesIn = (body: unknown): ((path: Path) => number[]) => {
  // The keys of each object are numbered only once, because a body with many fields and many
  // problems would otherwise take too long.
  const numbered = new Map<object, ReadonlyMap<string, number>>();
  const numberOf = (object: object, key: string): number => {
    const positions = numbered.get(object) ?? new Map(Object.keys(object).map((name, at) => [name, at]));
    numbered.set(object, positions);
    return positions.get(key) ?? -1;
  };
  return (path) => {
    let value = body;
    return path.map((part) => {
      const at = typeof part === 'number' ? part : isObject(value) ? numberOf(value, part) : -1;
      value = isObject(value) || Array.isArray(value) ? (value as Record<string | number, unknown>)[part] : undefined;
      return at;
    });
  };
};

const comparePositions = (a: readonly number[], b: readonly number[]): number => {
  const differing = a.findIndex((position, at) => position !== b[at]);
  return differing < 0 ? a.length - b.length : a[differing]! - (b[differing] ?? -1);
};

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
