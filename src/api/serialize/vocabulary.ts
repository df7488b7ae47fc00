import { unixSeconds, withoutNulls } from '../wire.js';

export interface VocabularyRecord {
  readonly id: string;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly name: string | null;
  readonly phrases: readonly string[];
  readonly passthrough: string | null;
}

export const serializeVocabulary = ({ id, created_at, updated_at, name, phrases, passthrough }: VocabularyRecord) =>
  withoutNulls({
    id,
    name,
    phrases,
    passthrough,
    created_at: unixSeconds(created_at),
    updated_at: unixSeconds(updated_at),
  });
