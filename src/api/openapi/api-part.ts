import type { Operation } from '../operations.js';
import type { Description } from './description.js';

/** Operations of the API, and what its documentation says about them. */
export interface ApiPart {
  readonly operations: Readonly<Record<string, Operation>>;
  readonly descriptions: Readonly<Record<string, Description>>;
  /** Descriptions of path parameters, by name. */
  readonly pathParameters: Readonly<Record<string, string>>;
  /** Example resources, by the title of their schema. */
  readonly examples: Readonly<Record<string, object>>;
  /** Resources right after an operation, where they differ from those that exist for a while. */
  readonly examplesAfter: Readonly<Record<string, object>>;
}

export const joinApiParts = (...parts: readonly ApiPart[]): ApiPart => ({
  operations: Object.assign({}, ...parts.map(({ operations }) => operations)),
  descriptions: Object.assign({}, ...parts.map(({ descriptions }) => descriptions)),
  pathParameters: Object.assign({}, ...parts.map(({ pathParameters }) => pathParameters)),
  examples: Object.assign({}, ...parts.map(({ examples }) => examples)),
  examplesAfter: Object.assign({}, ...parts.map(({ examplesAfter }) => examplesAfter)),
});
