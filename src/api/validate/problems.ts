import { KinoraError } from '../../lib/errors.js';

/** Where in a body: `['inputs', 0, 'url']`. */
export type Path = readonly (string | number)[];

interface Problem {
  readonly path: Path;
  readonly message: string;
}

/** `inputs[0].url` */
export const formatPath = (path: Path): string =>
  path.map((part, at) => (typeof part === 'number' ? `[${part}]` : at === 0 ? part : `.${part}`)).join('');

/** Collects everything that is wrong with a request, so that the caller hears of all of it at once. */
export class Problems {
  readonly #found: Problem[];
  readonly #fields: Set<string>;
  readonly #base: Path;

  /** @param base where in the body the paths begin that are given to this collection */
  constructor(base: Path = [], shared?: Problems) {
    this.#base = base;
    this.#found = shared ? shared.#found : [];
    this.#fields = shared ? shared.#fields : new Set();
  }

  /** The same collection for those who know only the part of the body below `base`. */
  below(base: Path): Problems {
    return new Problems([...this.#base, ...base], this);
  }

  /** `inputs[0].url`, from the start of the body. */
  nameOf(path: Path): string {
    return formatPath([...this.#base, ...path]);
  }

  /** `{path} {complaint}` */
  add(path: Path, complaint: string): void {
    this.addSentence(path, `${this.nameOf(path)} ${complaint}`);
  }

  /** A sentence of its own; `path` only decides its place among the others. */
  addSentence(path: Path, message: string): void {
    this.#found.push({ path: [...this.#base, ...path], message });
    this.#fields.add(this.nameOf(path));
  }

  /** Whether something is wrong with exactly this field: then rules about its value have nothing to add. */
  has(path: Path): boolean {
    return this.#fields.has(this.nameOf(path));
  }

  /**
   * One message per problem, in the order of the body; what is missing comes before its siblings that are there.
   * @throws KinoraError `invalid_parameters` when anything was found
   */
  throwIfAny(body: unknown): void {
    if (this.#found.length === 0) return;
    const placeOf = placesIn(body);
    const placed = this.#found.map(({ path, message }) => ({ message, place: placeOf(path) }));
    placed.sort((a, b) => comparePlaces(a.place, b.place));
    throw new KinoraError('invalid_parameters', { messages: placed.map(({ message }) => message) });
  }
}

/** Where the parts of a path stand in the body; -1 for what is not there. */
const placesIn = (body: unknown): ((path: Path) => number[]) => {
  // The keys of an object are numbered once: a body of many fields and many problems would keep the process busy for long.
  const numbered = new Map<object, ReadonlyMap<string, number>>();
  const numberOf = (object: object, key: string): number => {
    const known = numbered.get(object) ?? new Map(Object.keys(object).map((name, at) => [name, at]));
    numbered.set(object, known);
    return known.get(key) ?? -1;
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

const comparePlaces = (a: readonly number[], b: readonly number[]): number => {
  const differing = a.findIndex((place, at) => place !== b[at]);
  return differing < 0 ? a.length - b.length : a[differing]! - (b[differing] ?? -1);
};

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
