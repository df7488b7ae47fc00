import type { Cue } from '../text/subtitles.js';
import { CaptionScreen, ROWS } from './caption-screen.js';
import { basicCharacter, extendedCharacter, specialCharacter } from './characters.js';

/**
 * One channel of CEA-608. What it shows becomes cues: an erased or replaced caption ends its cue.
 * Characters that appear one after the other share a cue, which begins with the first of them.
 */

/** After such a pause, what is shown is a cue of its own. */
const PAUSE_SECONDS = 1;
/** By the first byte of a preamble address code, and whether the second one is above 0x5f. */
const PREAMBLE_ROWS: Readonly<Record<number, readonly [number, number]>> = {
  16: [10, 10],
  17: [0, 1],
  18: [2, 3],
  19: [11, 12],
  20: [13, 14],
  21: [4, 5],
  22: [6, 7],
  23: [8, 9],
};
const BASE_ROW = ROWS - 1;

type Mode = 'pop-on' | 'roll-up' | 'paint-on' | 'text' | undefined;

export class CaptionChannel {
  /** Those that have ended, in their order. */
  readonly cues: Cue[] = [];
  private shown = new CaptionScreen();
  private hidden = new CaptionScreen();
  private mode: Mode;
  /** Of roll-up captions. */
  private rollRows = 0;
  private row = BASE_ROW;
  private column = 0;
  private isItalic = false;
  private startSeconds: number | undefined;
  private changedSeconds = 0;
  private characters = 0;

  /** @param maxCharacters what exceeds it is left out */
  constructor(private readonly maxCharacters: number) {}

  /** A code whose first byte has no channel bit (0x10 to 0x17). Times never go back. */
  control(first: number, second: number, seconds: number): void {
    if (second >= 0x40) this.address(first, second, seconds);
    else if ((first === 0x14 || first === 0x15) && second < 0x30) this.command(second, seconds);
    else if (first === 0x17 && second >= 0x21 && second <= 0x23) this.column += second - 0x20;
    else if (first === 0x11 && second >= 0x30) this.write(specialCharacter(second), seconds);
    else if (first === 0x11 && second >= 0x20) this.style(second, seconds);
    else if ((first === 0x12 || first === 0x13) && second >= 0x20) {
      this.column = Math.max(0, this.column - 1);
      this.write(extendedCharacter(first, second), seconds);
    }
  }

  /** A byte from 0x20 to 0x7f. */
  character(byte: number, seconds: number): void {
    this.write(basicCharacter(byte), seconds);
  }

  /** Ends what is shown. */
  erase(seconds: number): void {
    this.endCue(seconds);
    this.shown.clear();
    this.startSeconds = undefined;
  }

  /** What characters are written to. */
  private get target(): CaptionScreen | undefined {
    if (this.mode === undefined || this.mode === 'text') return undefined;
    return this.mode === 'pop-on' ? this.hidden : this.shown;
  }

  private write(character: string, seconds: number): void {
    const { target } = this;
    if (!target) return;
    this.beforeChange(seconds);
    target.set(this.row, this.column, { character, italic: this.isItalic });
    this.column = Math.min(this.column + 1, 31);
    this.afterChange(seconds);
  }

  /** A mid-row code takes the place of a space. */
  private style(second: number, seconds: number): void {
    this.write(' ', seconds);
    this.isItalic = (second & 0x0e) === 0x0e;
  }

  private address(first: number, second: number, seconds: number): void {
    const row = PREAMBLE_ROWS[first]![second >= 0x60 ? 1 : 0];
    if (this.mode === 'roll-up' && row !== this.row) {
      const base = Math.max(row, this.rollRows - 1);
      this.beforeChange(seconds);
      this.shown.move(this.row, base, this.rollRows);
      this.row = base;
    } else this.row = row;
    const attributes = second & 0x1f;
    this.column = attributes >= 0x10 ? ((attributes & 0x0e) >> 1) * 4 : 0;
    this.isItalic = attributes < 0x10 && (attributes & 0x0e) === 0x0e;
  }

  private command(code: number, seconds: number): void {
    if (code === 0x20) this.mode = 'pop-on';
    else if (code === 0x21) this.backspace(seconds);
    else if (code === 0x24) this.change(seconds, (target) => target.cut(this.row, this.column));
    else if (code >= 0x25 && code <= 0x27) this.rollUp(code - 0x23, seconds);
    else if (code === 0x29) this.mode = 'paint-on';
    else if (code === 0x2a || code === 0x2b) this.mode = 'text';
    else if (code === 0x2c) this.erase(seconds);
    else if (code === 0x2d) this.carriageReturn(seconds);
    else if (code === 0x2e) this.hidden.clear();
    else if (code === 0x2f) this.endOfCaption(seconds);
  }

  private backspace(seconds: number): void {
    this.column = Math.max(0, this.column - 1);
    this.change(seconds, (target) => target.remove(this.row, this.column));
  }

  private rollUp(rows: number, seconds: number): void {
    if (this.mode !== 'roll-up') {
      if (this.mode !== 'text') this.erase(seconds);
      this.hidden.clear();
      this.row = BASE_ROW;
      this.column = 0;
    }
    this.mode = 'roll-up';
    this.rollRows = rows;
  }

  private carriageReturn(seconds: number): void {
    if (this.mode !== 'roll-up') return;
    this.endCue(seconds);
    this.shown.roll(this.row, this.rollRows);
    this.column = 0;
    this.isItalic = false;
    this.beginCue(seconds);
  }

  private endOfCaption(seconds: number): void {
    this.endCue(seconds);
    [this.shown, this.hidden] = [this.hidden, this.shown];
    this.mode = 'pop-on';
    this.beginCue(seconds);
  }

  private change(seconds: number, change: (target: CaptionScreen) => void): void {
    const { target } = this;
    if (!target) return;
    this.beforeChange(seconds);
    change(target);
    this.afterChange(seconds);
  }

  private beforeChange(seconds: number): void {
    if (this.target !== this.shown || seconds - this.changedSeconds <= PAUSE_SECONDS) return;
    this.endCue(seconds);
    this.beginCue(seconds);
  }

  private afterChange(seconds: number): void {
    if (this.target === this.shown) this.beginCue(seconds);
  }

  private beginCue(seconds: number): void {
    this.changedSeconds = seconds;
    if (this.shown.text !== '') this.startSeconds ??= seconds;
  }

  private endCue(endSeconds: number): void {
    const { startSeconds } = this;
    this.startSeconds = undefined;
    if (startSeconds === undefined || endSeconds <= startSeconds) return;
    const { text } = this.shown;
    this.characters += text.length;
    if (text === '' || this.characters > this.maxCharacters) return;
    const last = this.cues.at(-1);
    // A pause in which nothing was written.
    if (last?.text === text && last.endSeconds === startSeconds) this.cues.pop();
    const start = last?.text === text && last.endSeconds === startSeconds ? last.startSeconds : startSeconds;
    this.cues.push({ startSeconds: start, endSeconds, settings: '', text });
  }
}
