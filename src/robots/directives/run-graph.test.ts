import { describe, expect, test } from 'vitest';
import type { RobotsJobStatus, RunNode, RunResource } from '../../db/schema.js';
import type { Binding, DirectiveResource, ResourceSource } from '../api/requests.js';
import { evaluateNode, evaluateResource, evaluateRun, type RunFacts, type TrackFacts } from './run-graph.js';

const track = (id: string, change: Partial<TrackFacts> = {}): TrackFacts => ({
  id,
  type: 'text',
  status: 'ready',
  language_code: 'en',
  error: null,
  ...change,
});
const facts = (change: Partial<RunFacts> = {}): RunFacts => ({
  isFirst: false,
  isOverdue: false,
  tracks: [],
  shots: undefined,
  jobs: new Map(),
  ...change,
});
const caption = (source?: ResourceSource, language?: string): DirectiveResource => ({
  reference_id: 'r',
  type: 'video.asset.track',
  kind: 'caption',
  ...(language !== undefined && { language }),
  ...(source && { source }),
});
const shots = (via: 'external' | 'mux_api'): DirectiveResource => ({
  reference_id: 'r',
  type: 'video.asset.shots',
  source: via === 'mux_api' ? { via, action: 'request_shots' } : { via },
});
const waiting: RunResource = { reference_id: 'r', state: 'waiting' };

describe('a resource from outside', () => {
  test.each<[string, readonly TrackFacts[], string | undefined]>([
    ['in the language', [track('a', { language_code: 'de' }), track('b', { language_code: 'EN' })], 'b'],
    ['that is ready', [track('a', { status: 'preparing' }), track('b')], 'b'],
    ['of the kind', [track('a', { type: 'audio' })], undefined],
  ])('is a track %s', (_, tracks, found) => {
    const judged = evaluateResource(caption(undefined, 'en'), waiting, [], facts({ tracks }));
    expect(judged).toEqual(found ? { reference_id: 'r', state: 'ready', track_id: found } : waiting);
  });

  test('fails when its time is over, and at once when it is required', () => {
    expect(evaluateResource(caption(), waiting, [], facts({ isOverdue: true }))).toMatchObject({ state: 'failed' });
    expect(evaluateResource(caption({ via: 'required' }), waiting, [], facts())).toMatchObject({ state: 'failed' });
    expect(evaluateResource(shots('external'), waiting, [], facts({ shots: { status: 'errored' } }))).toEqual(waiting);
    expect(evaluateResource(shots('external'), waiting, [], facts({ shots: { status: 'completed' } }))).toMatchObject({
      state: 'ready',
    });
  });
});

describe('a resource that is made', () => {
  const source = { via: 'mux_api', action: 'generate_subtitles' } as const;

  test('is started once', () => {
    expect(evaluateResource(caption(source), waiting, [], facts())).toBeUndefined();
    expect(evaluateResource(shots('mux_api'), waiting, [], facts({ isFirst: true }))).toBeUndefined();
    expect(evaluateResource(shots('mux_api'), waiting, [], facts({ shots: { status: 'pending' } }))).toEqual(waiting);
  });

  test.each<[string, readonly TrackFacts[], string]>([
    ['ready', [track('t')], 'ready'],
    ['preparing', [track('t', { status: 'preparing' })], 'waiting'],
    ['errored', [track('t', { status: 'errored', error: { messages: ['No.'] } })], 'failed'],
    ['gone', [], 'failed'],
  ])('follows its track when that is %s', (_, tracks, state) => {
    expect(evaluateResource(caption(source), { ...waiting, track_id: 't' }, [], facts({ tracks }))).toMatchObject({
      state,
    });
  });
});

describe('a resource that a workflow makes', () => {
  const source = { via: 'workflow', binding: 'w' } as const;
  const node: RunNode = { reference_id: 'w', workflow: 'translate-captions', state: 'dispatched', job_id: 'j' };
  const jobs = (status: RobotsJobStatus, outputs: object | null = null) => new Map([['j', { status, outputs }]]);

  test.each<[string, Partial<RunFacts>, string]>([
    ['pending', { jobs: jobs('pending') }, 'waiting'],
    ['errored', { jobs: jobs('errored') }, 'failed'],
    ['cancelled', { jobs: jobs('cancelled') }, 'failed'],
    ['completed without a track', { jobs: jobs('completed', {}) }, 'failed'],
    ['completed', { jobs: jobs('completed', { uploaded_track_id: 't' }), tracks: [track('t')] }, 'ready'],
  ])('follows a job that is %s', (_, change, state) => {
    expect(evaluateResource(caption(source), waiting, [node], facts(change))).toMatchObject({ state });
  });

  test('fails with a workflow that could not begin', () => {
    const failed: RunNode = { reference_id: 'w', workflow: 'translate-captions', state: 'failed', reason: 'x' };
    expect(evaluateResource(caption(source), waiting, [failed], facts())).toMatchObject({ state: 'failed' });
  });
});

describe('a workflow', () => {
  const binding: Binding = { reference_id: 'n', workflow: 'summarize', inputs: ['a', 'b'] };
  const node: RunNode = { reference_id: 'n', workflow: 'summarize', state: 'waiting_for_resources' };
  const declared: DirectiveResource[] = [
    { ...caption(), reference_id: 'a' },
    { ...caption({ via: 'workflow', binding: 'w' }), reference_id: 'b' },
  ];
  const states = (a: RunResource['state'], b: RunResource['state']): RunResource[] => [
    { reference_id: 'a', state: a, reason: 'is missing' },
    { reference_id: 'b', state: b, reason: 'is missing' },
  ];

  test.each<[RunResource['state'], RunResource['state'], object | 'dispatch']>([
    ['ready', 'ready', 'dispatch'],
    ['waiting', 'ready', { state: 'waiting_for_resources' }],
    ['waiting', 'waiting', { state: 'waiting_for_source_workflow', sources: ['w'] }],
    ['waiting', 'failed', { state: 'failed', reason: 'The resource b is missing' }],
  ])('whose inputs are %s and %s', (a, b, expected) => {
    const judged = evaluateNode(binding, node, declared, states(a, b));
    if (typeof expected === 'string') expect(judged).toBe(expected);
    else expect(judged).toMatchObject(expected);
  });
});

test.each<[readonly string[], string]>([
  [['completed', 'completed'], 'completed'],
  [['completed', 'errored'], 'partial'],
  [['completed', 'failed'], 'partial'],
  [['cancelled', 'failed'], 'errored'],
  [['processing', 'failed', 'waiting'], 'running'],
  [['completed', 'waiting'], 'waiting'],
])('a run with %j is %s', (ends, status) => {
  const jobs = new Map(ends.map((end, at) => [String(at), { status: end as RobotsJobStatus }]));
  const nodes = ends.map((end, at): RunNode => {
    const base = { reference_id: String(at), workflow: 'summarize' };
    if (end === 'failed') return { ...base, state: 'failed', reason: 'x' };
    return end === 'waiting'
      ? { ...base, state: 'waiting_for_resources' }
      : { ...base, state: 'dispatched', job_id: String(at) };
  });
  expect(evaluateRun(nodes, jobs)).toBe(status);
});
