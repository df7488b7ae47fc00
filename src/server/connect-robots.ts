import { RecognitionState } from '../domain/tracks/recognition-state.js';
import { TrackState } from '../domain/tracks/track-state.js';
import { HourlyWork } from '../jobs/hourly-work.js';
import { ChatClient } from '../net/chat-client.js';
import { robotsHook } from '../robots/asset-hook.js';
import { CaptionsRecognition } from '../robots/captions-recognition.js';
import { RobotsJobState } from '../robots/jobs/job-state.js';
import { purgeRobots } from '../robots/purge.js';
import { resultFileRoutes } from '../robots/routes/result-files.js';
import { robotsRoutes } from '../robots/routes/robots-routes.js';
import { ModelAsker } from '../robots/support/model-asker.js';
import { createRobotsWorkers } from '../robots/workers.js';
import type { Room } from './parts.js';

/** Connects robots. Nothing else of the server knows them. */
export const robots: Room = {
  assetHook: robotsHook,
  connect: (
    { config, clock, logger, chat, resolve },
    { database, context, blobs, texts, images, pool, transcriber, temporaryDir, audience },
  ) => {
    const state = new RobotsJobState(context);
    const model = new ModelAsker(
      new ChatClient({
        url: config.aiUrl,
        key: config.aiKey,
        model: config.aiModel,
        visionModel: config.aiVisionModel,
        ...chat,
        resolve,
      }),
    );
    return {
      apiExtension: robotsRoutes(context),
      fileRoutes: resultFileRoutes({ ...context, blobs }),
      workers: createRobotsWorkers({
        ...{ context, state, model, blobs, texts, images, pool, logger },
        findWatched: (asset) => audience.findWatched(asset),
      }),
      captions: new CaptionsRecognition({
        ...{ jobs: state, recognition: new RecognitionState(database.queryable), tracks: new TrackState(context) },
        ...{ transcriber, blobs, texts, pool, temporaryDir, logger },
      }),
      purge: new HourlyWork(
        (isStopping) => purgeRobots({ database, blobs, clock }, isStopping),
        logger,
        'removal of old robots jobs failed, retrying in an hour',
      ),
    };
  },
};
