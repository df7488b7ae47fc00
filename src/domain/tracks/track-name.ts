/** What the names of tracks are judged among. */
interface NamedTrack {
  readonly type: 'video' | 'audio' | 'text';
  readonly name: string | null;
}

/** The names that are taken in the group of tracks of one type. */
export const takenNames = (tracks: readonly NamedTrack[], type: 'audio' | 'text'): Set<string> =>
  new Set(tracks.filter((track) => track.type === type).map(({ name }) => name ?? ''));

/** `fr` is `French`, `en-US` is `English (United States)`; the code itself where nothing is known of it. */
export const languageName = (code: string): string => {
  const name = nameOf(code);
  // What Unicode calls a language that is not told: `und`, private codes.
  return name === undefined || name.startsWith('root') ? code : name;
};

const nameOf = (code: string): string | undefined => {
  try {
    return new Intl.DisplayNames(['en'], { type: 'language', languageDisplay: 'standard' }).of(code);
  } catch {
    // Well-formed, but nothing that Unicode has names for (RFC 5646, irregular and private tags).
    return undefined;
  }
};

/** The name itself, or with ` (2)`, ` (3)`… behind it where it is taken; takes it. */
export const claimName = (wanted: string, taken: Set<string>): string => {
  let name = wanted;
  for (let number = 2; taken.has(name); number++) name = `${wanted} (${number})`;
  taken.add(name);
  return name;
};
