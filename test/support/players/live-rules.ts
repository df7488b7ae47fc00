/**
 * The rules of RFC 8216bis and of Apple's authoring specification for low latency, as far as a
 * playlist and the one before it can break them.
 */
import { type ListedPart, type ListedSegment, type LivePlaylist, parseLivePlaylist } from './live-playlist.js';

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const durationOf = ({ segments }: Pick<LivePlaylist, 'segments'>): number =>
  sum(segments.map(({ seconds }) => seconds));

/** Of rounded times. */
const ROUNDING = 2e-6;
const LEAST_PART = 0.85;
/** Between program times and the durations of what they stand before. */
const PROGRAM_TOLERANCE_SECONDS = 0.1;

/** Seconds from the end of each segment to the end of the playlist. */
const distancesOf = (segments: readonly ListedSegment[]): number[] =>
  segments.map((_, index) => sum(segments.slice(index + 1).map(({ seconds }) => seconds)));

const ruleHeader = (list: LivePlaylist): string[] => {
  const { tags, control, targetSeconds, partTarget, segments, skipped } = list;
  const found = [...list.problems];
  const require = (holds: boolean, problem: string): void => {
    if (!holds) found.push(problem);
  };
  const version = Number(tags.VERSION);
  require(Number.isInteger(targetSeconds) && targetSeconds > 0, 'TARGETDURATION is not a whole number');
  require(version >= 6, 'EXT-X-MAP needs version 6');
  require(skipped === 0 || version >= 9, 'EXT-X-SKIP needs version 9');
  require(!('SKIP' in tags) || skipped > 0, 'EXT-X-SKIP skips nothing');
  require(control['CAN-BLOCK-RELOAD'] === 'YES', 'no blocking reload');
  require(Number(control['HOLD-BACK']) >= 3 * targetSeconds, 'HOLD-BACK is less than 3 target durations');
  require(Number(control['CAN-SKIP-UNTIL']) >= 6 * targetSeconds, 'CAN-SKIP-UNTIL is less than 6 target durations');
  require(tags['MEDIA-SEQUENCE'] !== undefined, 'no MEDIA-SEQUENCE');
  require(segments.length > 0, 'no segment');
  require(segments[0]?.programMs !== undefined, 'the first segment has no program time');
  const hasDiscontinuity = segments.some(({ discontinuity }) => discontinuity);
  require(!hasDiscontinuity || 'DISCONTINUITY-SEQUENCE' in tags, 'no DISCONTINUITY-SEQUENCE');
  if (partTarget === undefined) {
    require(control['PART-HOLD-BACK'] === undefined, 'PART-HOLD-BACK without parts');
    require(segments.every(({ parts }) => parts.length === 0), 'parts without PART-INF');
  } else {
    require(tags['PART-INF'] === `PART-TARGET=${partTarget}`, 'PART-TARGET is not the only attribute');
    require(Number(control['PART-HOLD-BACK']) >= 3 * partTarget - ROUNDING, 'PART-HOLD-BACK is less than 3 parts');
    require(list.ended || list.hint !== undefined, 'no PRELOAD-HINT');
  }
  require(!list.ended || list.hint === undefined, 'PRELOAD-HINT behind the end');
  for (const report of list.reports) {
    require(/^(?!\/|\w+:)/.test(report.URI ?? '/'), 'the URI of a RENDITION-REPORT is not relative');
    require(/^\d+$/.test(report['LAST-MSN'] ?? ''), 'RENDITION-REPORT has no LAST-MSN');
    require(partTarget === undefined || /^\d+$/.test(report['LAST-PART'] ?? ''), 'RENDITION-REPORT has no LAST-PART');
  }
  return found;
};

const ruleSegments = (list: LivePlaylist): string[] => {
  const { segments, targetSeconds } = list;
  const found: string[] = [];
  let clock: number | undefined;
  for (const [index, segment] of segments.entries()) {
    const { number, seconds, map, uri, discontinuity, programMs } = segment;
    const isLast = index === segments.length - 1;
    if (!(seconds > 0)) found.push(`${number} has no duration`);
    if (Math.round(seconds) > targetSeconds) found.push(`${number} is longer than the target duration`);
    if (map === undefined) found.push(`${number} has no EXT-X-MAP`);
    if (uri === undefined && !isLast) found.push(`${number} is not complete`);
    if (discontinuity && programMs === undefined) found.push(`${number} has no program time`);
    if (programMs !== undefined && Number.isNaN(programMs)) found.push(`${number} has an invalid program time`);
    const isOff =
      clock !== undefined &&
      programMs !== undefined &&
      !discontinuity &&
      Math.abs(programMs / 1000 - clock) > PROGRAM_TOLERANCE_SECONDS;
    if (isOff) found.push(`the program time of ${number} does not continue`);
    clock = programMs === undefined ? clock : programMs / 1000;
    clock = clock === undefined ? undefined : clock + seconds;
  }
  return [...found, ...ruleParts(list)];
};

const ruleParts = ({ segments, partTarget, targetSeconds, tags, ended }: LivePlaylist): string[] => {
  if (partTarget === undefined) return [];
  const found: string[] = [];
  const distances = distancesOf(segments);
  for (const [index, { number, uri, seconds, parts }] of segments.entries()) {
    if (distances[index]! >= 3 * targetSeconds + ROUNDING && parts.length > 0)
      found.push(`${number} has parts more than 3 target durations from the edge`);
    // Nobody starts at the edge of a playlist that has ended.
    const isNear = !ended && distances[index]! < 3 * targetSeconds - ROUNDING;
    if (isNear && parts.length === 0) found.push(`${number} has no parts`);
    for (const [at, part] of parts.entries()) {
      if (part.seconds > partTarget + ROUNDING) found.push(`${part.uri} is longer than PART-TARGET`);
      if (at < parts.length - 1 && part.seconds < LEAST_PART * partTarget)
        found.push(`${part.uri} is shorter than 85 % of PART-TARGET`);
    }
    const isSum = Math.abs(sum(parts.map((part) => part.seconds)) - seconds) < ROUNDING * (parts.length + 1);
    if (uri !== undefined && parts.length > 0 && !isSum) found.push(`the parts of ${number} are not the segment`);
    if ('INDEPENDENT-SEGMENTS' in tags && parts.length > 0 && !parts[0]!.independent)
      found.push(`${number} does not start with an independent part`);
  }
  return found;
};

const FIXED = ['TARGETDURATION', 'PART-INF', 'SERVER-CONTROL', 'PLAYLIST-TYPE'];

const rulePair = (before: LivePlaylist, list: LivePlaylist): string[] => {
  const found: string[] = [];
  const require = (holds: boolean, problem: string): void => {
    if (!holds) found.push(problem);
  };
  for (const tag of FIXED) require(before.tags[tag] === list.tags[tag], `${tag} changed`);
  require('INDEPENDENT-SEGMENTS' in before.tags ||
    !('INDEPENDENT-SEGMENTS' in list.tags), 'INDEPENDENT-SEGMENTS came later');
  require(list.firstNumber >= before.firstNumber, 'MEDIA-SEQUENCE went back');
  require(!list.isEvent || list.firstNumber === before.firstNumber, 'an EVENT playlist lost a segment');
  const [lastBefore, last] = [before.segments.at(-1), list.segments.at(-1)];
  require((last?.number ?? 0) >= (lastBefore?.number ?? 0), 'the edge went back');
  require(!before.ended || list.ended, 'ENDLIST disappeared');
  if (before.ended) require(last?.number === lastBefore?.number, 'a segment follows the end');
  if (list.firstNumber > before.firstNumber)
    require(durationOf(list) >= 3 * list.targetSeconds - ROUNDING, 'segments were removed from 3 target durations');
  const removed = before.segments.filter(({ number }) => number < list.firstNumber);
  const counted =
    list.discontinuitySequence -
    before.discontinuitySequence -
    removed.filter(({ discontinuity }) => discontinuity).length;
  // Segments that came and went between two looks may have discontinuities.
  const missed = Math.max(0, list.firstNumber - (lastBefore?.number ?? 0) - 1);
  require(counted >= 0 && counted <= missed, 'DISCONTINUITY-SEQUENCE does not count what was removed');
  const distances = distancesOf(list.segments);
  for (const segment of before.segments) {
    const index = list.segments.findIndex(({ number }) => number === segment.number);
    if (index !== -1) found.push(...ruleSame(segment, list.segments[index]!, distances[index]!, list));
  }
  return found;
};

const isSamePart = (a: ListedPart, b: ListedPart | undefined): boolean =>
  a.uri === b?.uri && a.seconds === b.seconds && a.independent === b.independent;

/** What may change of a segment: it gets parts and an end, and later loses its parts. */
const ruleSame = (a: ListedSegment, b: ListedSegment, distance: number, list: LivePlaylist): string[] => {
  const found: string[] = [];
  const { number } = b;
  if (a.uri !== undefined && (a.uri !== b.uri || a.seconds !== b.seconds)) found.push(`${number} changed`);
  if (a.map !== b.map) found.push(`the EXT-X-MAP of ${number} changed`);
  if (a.discontinuity !== b.discontinuity) found.push(`the discontinuity of ${number} changed`);
  if (a.programMs !== undefined && b.programMs !== undefined && a.programMs !== b.programMs)
    found.push(`the program time of ${number} changed`);
  if (b.parts.length > 0 || (!list.ended && distance < 3 * list.targetSeconds - ROUNDING))
    for (const [index, part] of a.parts.entries())
      if (!isSamePart(part, b.parts[index])) found.push(`${part.uri} changed or was removed`);
  return found;
};

/** The whole of a delta update; its problems if the player can't know what is skipped. */
const unskip = (list: LivePlaylist, before: LivePlaylist | undefined): LivePlaylist | string => {
  if (list.skipped === 0) return list;
  const known = before?.segments.filter(
    ({ number }) => number >= list.firstNumber && number < list.firstNumber + list.skipped,
  );
  if (known?.length !== list.skipped) return 'what is skipped is not in the playlist before';
  const whole = { ...list, skipped: 0, segments: [...known, ...list.segments] };
  const boundary = Number(list.control['CAN-SKIP-UNTIL']);
  const distance = distancesOf(whole.segments)[list.skipped - 1]!;
  return distance < boundary - ROUNDING ? 'a segment within the skip boundary is skipped' : whole;
};

/** Follows one playlist through its versions. */
export class LiveRules {
  private before: LivePlaylist | undefined;

  /** The whole playlist so far. */
  get current(): LivePlaylist | undefined {
    return this.before;
  }

  /** What is wrong with the next version of the playlist; empty if nothing is. */
  check(text: string): string[] {
    const parsed = parseLivePlaylist(text);
    const whole = unskip(parsed, this.before);
    const header = ruleHeader(parsed);
    if (typeof whole === 'string') return [...header, whole];
    // Parts of skipped segments are gone.
    const pair = this.before ? rulePair(this.before, whole) : [];
    this.before = { ...whole, segments: whole.segments.map((segment) => forget(segment, parsed)) };
    return [...header, ...ruleSegments(this.before), ...pair];
  }
}

const forget = (segment: ListedSegment, { firstNumber, skipped }: LivePlaylist): ListedSegment =>
  segment.number < firstNumber + skipped ? { ...segment, parts: [] } : segment;
