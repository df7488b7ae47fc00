/**
 * Characters that steer a terminal instead of being shown: control characters (C0, DEL, C1), line
 * separators, and those that change the direction of the text that follows (embeddings, overrides
 * and isolates of UAX 9).
 */
const STEERING = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** Text for a terminal: line breaks and tabs stay, other steering characters become spaces. */
export const terminalText = (text: string): string =>
  text.replaceAll('\r\n', '\n').replaceAll(STEERING, (char) => (char === '\n' || char === '\t' ? char : ' '));

/** Text for a part of a line. */
export const terminalLine = (text: string): string => text.replaceAll(STEERING, ' ');

const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;

/**
 * The same JSON with its steering characters escaped. They occur in strings only, except for line
 * breaks and tabs.
 */
export const terminalJson = (json: string): string =>
  json.replaceAll(STEERING, (char) => (char === '\n' || char === '\t' ? char : escaped(char)));

/**
 * JSON whose strings have no steering characters, neither as they are nor escaped, but for line
 * breaks and tabs.
 */
export const plainJson = (json: string): string =>
  terminalJson(json).replaceAll(/\\(?:u[0-9a-f]{4}|.)/gi, (sequence) => {
    const char = JSON.parse(`"${sequence}"`) as string;
    return terminalText(char) === char ? sequence : ' ';
  });
