// Who may import whom below src/: the same table as in docs/architecture.md. What is not named here
// is not allowed.

const contracts = {
  storage: 'storage/(blob-download|blob-store|keys)',
  pool: 'pool/(media-pool|protocol|read-result)',
  net: 'net/(call-service|chat-model|fetch-origin|fetch-source|send-webhook)',
  db: 'db/(database|schema|tables/[^/]+/[^/]+)',
  queue: 'queue/queue',
  speech: 'speech/transcriber',
};

const layers = {
  lib: [],
  media: ['lib'],
  api: ['domain', 'media', 'lib'],
  live: ['domain', 'cache', 'packager', contracts.db, contracts.storage, contracts.pool, 'media', 'telemetry', 'lib'],
  config: ['lib'],
  telemetry: ['lib'],
  engine: ['media', 'pool/protocol', 'lib'],
  pool: ['media', 'telemetry', 'lib'],
  storage: ['telemetry', 'lib'],
  net: [contracts.storage, 'telemetry', 'lib'],
  db: ['telemetry', 'lib'],
  cache: ['telemetry', 'lib'],
  packager: ['cache', contracts.storage, contracts.db, 'pool', 'media', 'telemetry', 'lib'],
  nodes: [
    contracts.db,
    'net/node-client',
    'packager/segment-peers',
    'packager/playable-asset',
    contracts.pool,
    'media',
    'telemetry',
    'lib',
  ],
  speech: [
    contracts.pool,
    contracts.net,
    contracts.storage,
    'net/post-recording',
    'storage/disk/disk-blob-store',
    'media',
    'telemetry',
    'lib',
  ],
  queue: ['db', 'telemetry', 'lib'],
  domain: [
    contracts.db,
    contracts.queue,
    contracts.storage,
    contracts.pool,
    contracts.net,
    'media',
    'telemetry',
    'lib',
  ],
  uploads: ['domain', contracts.db, contracts.queue, contracts.storage, 'media', 'telemetry', 'lib'],
  early: [
    'domain',
    'uploads',
    'cache',
    'packager',
    contracts.db,
    contracts.storage,
    contracts.pool,
    contracts.net,
    'media',
    'telemetry',
    'lib',
  ],
  jobs: [
    'early',
    'domain',
    'uploads',
    contracts.speech,
    'cache',
    'packager',
    contracts.db,
    contracts.queue,
    contracts.storage,
    contracts.pool,
    contracts.net,
    'media',
    'telemetry',
    'lib',
  ],
  http: [
    'api',
    'domain',
    'uploads',
    'cache',
    'packager',
    'nodes',
    contracts.db,
    contracts.net,
    'media',
    'telemetry',
    'lib',
  ],
  robots: [
    'api',
    'domain',
    'http/(plugins|stream)',
    'jobs/(recognize-speech|speech/recognize-audio)',
    'packager',
    contracts.db,
    contracts.queue,
    contracts.storage,
    contracts.pool,
    contracts.net,
    'media',
    'telemetry',
    'lib',
  ],
  control: ['domain', 'config', contracts.db, contracts.pool, 'telemetry', 'lib'],
  cli: [
    'server',
    'control',
    'speech',
    'net/(source-client|source-api|service-client)',
    'storage/(keys|s3/(check-bucket|object-client))',
    'config',
    'telemetry',
    'domain',
    'db',
    'pool',
    'lib',
  ],
};

/** Packages that only one part of the house may touch. */
const packages = {
  engine: ['node-av', 'sherpa-onnx-node'],
  storage: ['@aws-sdk/client-s3'],
  db: ['pg', 'kysely', '@electric-sql/pglite'],
  http: ['fastify', '@fastify/static', '@fastify/swagger', '@fastify/swagger-ui'],
  telemetry: ['pino', 'pino-pretty', 'prom-client'],
};

const layerRules = Object.entries(layers).map(([layer, allowed]) => ({
  name: `${layer} imports only what it may`,
  severity: 'error',
  from: { path: `^src/${layer}/`, pathNot: '\\.test\\.ts$' },
  to: { path: '^src/', pathNot: [layer, ...allowed].map((part) => `^src/${part}(/|\\.ts$)`) },
}));

const packageRules = Object.entries(packages).map(([layer, names]) => ({
  name: `${names.join(', ')} only under ${layer}/`,
  severity: 'error',
  from: {
    path: '^src/',
    pathNot: [
      `^src/${layer}/`,
      '^src/server\\.ts$',
      ...(layer === 'db' ? ['^src/robots/tables/'] : []),
      ...(layer === 'http' ? ['^src/(robots/routes|server)/'] : []),
    ],
  },
  to: { path: `^node_modules/(@types/)?(${names.join('|')})/` },
}));

const networkRule = {
  name: 'the network only under net/',
  severity: 'error',
  // The app makes the server that it listens with; live streams arrive over TLS of their own.
  from: { path: '^src/', pathNot: '^src/(net/|http/plugins/create-http-app\\.ts$|live/rtmp/rtmp-server\\.ts$)' },
  to: { path: '^(node:)?(http|https|http2|dgram|tls|dns)(/|$)' },
};

module.exports = {
  forbidden: [
    networkRule,
    { name: 'no cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'every import resolves', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'the product does not import tests or development packages',
      severity: 'error',
      from: { path: '^src/', pathNot: '\\.test\\.ts$' },
      to: { path: '^(test|bench|scripts)/|\\.test\\.ts$' },
    },
    {
      name: 'acceptance tests know the product from outside',
      severity: 'error',
      from: { path: '^test/acceptance/' },
      to: { path: '^src/' },
    },
    {
      name: 'only one module of the composition root knows robots',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(robots/|server/connect-robots\\.ts$)' },
      to: { path: '^src/robots/' },
    },
    ...layerRules,
    ...packageRules,
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.test.json' },
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^dist/' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['types', 'import', 'node', 'default'] },
  },
};
