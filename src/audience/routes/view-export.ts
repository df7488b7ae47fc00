import { Readable } from 'node:stream';
import type { FastifyPluginAsync } from 'fastify';
import type { Queryable } from '../../db/database.js';
import type { DomainContext } from '../../domain/context.js';
import type { Artifact } from '../../domain/signing/artifact-urls.js';
import { acceptViewers } from '../../http/stream/viewer-routes.js';
import { KinoraError } from '../../lib/errors.js';
import { lastOf } from '../../lib/last-of.js';
import { csvHeader, csvLine } from '../api/view-csv.js';
import { viewsOfDay } from '../tables/video-view.js';

const FILE = /^(\d{4}-\d{2}-\d{2})\.csv$/;

/** The file with the views of a day, `2026-01-01`. */
export const exportArtifact = (environmentId: string, date: string): Artifact => ({
  kind: 'views',
  ownerId: environmentId,
  version: '1',
  file: `${date}.csv`,
});

async function* csvOfDay(db: Queryable, environmentId: string, dayStart: Date): AsyncGenerator<string> {
  yield csvHeader;
  for await (const view of viewsOfDay(db, environmentId, dayStart)) yield csvLine(view);
}

/** The route of exports, which have signed URLs. They are made while they are sent. */
export const exportRoutes = ({
  database,
  clock,
  artifactUrls,
}: Pick<DomainContext, 'database' | 'clock' | 'artifactUrls'>): FastifyPluginAsync => {
  return async (app) => {
    const route = acceptViewers(app);

    route<{ environmentId: string; file: string }>('/artifacts/views/:environmentId/:file', async (request, reply) => {
      reply.header('cache-control', 'private, no-store');
      const { environmentId, file } = request.params;
      const date = FILE.exec(file)?.[1];
      if (date === undefined) throw new KinoraError('not_found');
      const [expires, signature] = [lastOf(request.query.expires), lastOf(request.query.sig)];
      artifactUrls.check(exportArtifact(environmentId, date), expires, signature, clock.now());
      reply.headers({
        'content-type': 'text/csv; charset=utf-8',
        'content-disposition': `attachment; filename="views-${file}"`,
      });
      if (request.method === 'HEAD') return reply.send('');
      const rows = csvOfDay(database.queryable, environmentId, new Date(`${date}T00:00:00Z`));
      return reply.send(Readable.from(rows));
    });
  };
};
