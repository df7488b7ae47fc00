/** The fields by which names are compared. */
interface NamedTrack {
  readonly type: 'video' | 'audio' | 'text';
  readonly name: string | null;
}

/** The names that are taken in the group of tracks of one type. */
export const takenNames = (tracks: readonly NamedTrack[], type: 'audio' | 'text'): Set<string> =>
  new Set(tracks.filter((track) => track.type === type).map(({ name }) => name ?? ''));

/** `fr` is `French`, `en-US` is `English (United States)`; an unknown code stays as it is. */
export const languageName = (code: string): string => {
  const name = nameOf(code);
  // Unicode's name for an undetermined language: `und`, private codes.
  return name === undefined || name.startsWith('root') ? code : name;
};

const nameOf = (code: string): string | undefined => {
  try {
    return new Intl.DisplayNames(['en'], { type: 'language', languageDisplay: 'standard' }).of(code);
  } catch {
    // Well-formed, but without a Unicode name (RFC 5646, irregular and private tags).
    return undefined;
  }
};

/** Returns the name, with ` (2)`, ` (3)`… appended if it is taken, and marks it as taken. */
export const claimName = (wantedName: string, taken: Set<string>): string => {
  let name = wantedName;
  for (let number = 2; taken.has(name); number++) name = `${wantedName} (${number})`;
  taken.add(name);
  return name;
};
