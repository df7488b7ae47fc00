import { readFile } from 'node:fs/promises';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import type { ClipSource } from '#kinora/media/plan/clip.js';
import type { AudioPlan, Plan, VideoPlan } from '#kinora/media/plan/plan.js';
import type { SourceFacts, VideoFacts } from '#kinora/media/source/source-facts.js';
import { describeOnBothEngines } from './engines.js';

const MIGRATION = new URL('../../src/db/migrations/0009_field_words.sql', import.meta.url);

const color = { primaries: 'bt709', transfer: 'bt709', matrix: 'bt709', range: 'tv' };
const chain = { deinterlace: false, rotation: 0, flipHorizontal: false, testMark: false } as const;
/** A text that looks like an old key stays as it is. */
const reason = 'encoded: "picture": "colour":';

const oldPlan = {
  version: 1,
  joined: true,
  video: {
    zeroTicks: 126_000,
    firstPictureTicks: -3000,
    lastPictureTicks: 9000,
    picture: { ...chain, colour: color },
    copyDecision: reason,
  },
  audio: { sourceZero: 67_200 },
};
const video: Partial<VideoPlan> = {
  originTicks: 126_000,
  firstFrameTicks: -3000,
  lastFrameTicks: 9000,
  filters: { ...chain, color },
  copyDecision: reason,
};
const audio: Partial<AudioPlan> = { sourceOrigin: 67_200 };
const plan = { version: 1, concatenated: true, video, audio } satisfies Partial<Record<keyof Plan, unknown>>;
const facts = { video: { color } satisfies Partial<VideoFacts> } satisfies Partial<Record<keyof SourceFacts, unknown>>;
const clip: Partial<ClipSource> = { concatenated: true, overlays: [] };

describeOnBothEngines('plans and facts stored before 0009', (database) => {
  it('are read with the words of today', async () => {
    const db = database().queryable;
    const asset = { id: 'old-words', environment_id: 'old-words', ingest_type: 'on_demand_url' } as const;
    await db.insertInto('environment').values({ id: 'old-words', name: 'old', type: 'development' }).execute();
    await sql`insert into asset (id, environment_id, ingest_type, video_quality, max_resolution_tier, mp4_support,
      master_access, normalize_audio, is_test) values (${asset.id}, ${asset.environment_id}, ${asset.ingest_type}, 'basic',
      '1080p', 'none', 'none', false, false)`.execute(db);
    const track = { id: 'old-track', asset_id: asset.id, type: 'audio', status: 'ready' } as const;
    await db.insertInto('track').values(track).execute();
    const old = {
      facts: JSON.stringify({ video: { colour: color } }),
      plan: JSON.stringify(oldPlan),
      clip: JSON.stringify({ joined: true, overlays: [] }),
    };
    await db
      .insertInto('asset_media')
      .values({ asset_id: asset.id, ...old })
      .execute();
    await db
      .insertInto('track_media')
      .values({
        track_id: track.id,
        source_asset_id: asset.id,
        source_track_id: track.id,
        facts: null,
        plan: JSON.stringify(oldPlan.audio),
      })
      .execute();

    const text = await readFile(MIGRATION, 'utf8');
    await db.transaction().execute(async (tx) => {
      await sql.raw(text).execute(tx);
    });

    const stored = await db
      .selectFrom('asset_media')
      .select(['facts', 'plan', 'clip'])
      .where('asset_id', '=', asset.id)
      .executeTakeFirstOrThrow();
    expect(stored).toEqual({ facts, plan, clip });
    const alternate = await db
      .selectFrom('track_media')
      .select(['facts', 'plan'])
      .where('track_id', '=', track.id)
      .executeTakeFirstOrThrow();
    expect(alternate).toEqual({ facts: null, plan: audio });
  });
});
