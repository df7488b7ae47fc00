// Three servers on one PostgreSQL and one bucket, with nginx in front of them, for trying it out:
// `npm run cluster`. Prints one line of JSON when everything is ready, and stops everything on
// SIGTERM or SIGINT.
import { runnerImport } from 'vite';

const { module } = await runnerImport('./test/support/servers/cluster.ts');
let stopping;
let cluster;
const starting = module.startCluster();
const stop = () => {
  stopping ??= starting
    .then((started) => started.stop())
    .then(
      () => process.exit(0),
      (error) => {
        console.error(error);
        process.exit(1);
      },
    );
};
process.on('SIGTERM', stop).on('SIGINT', stop);
// The parent has ended: nobody can stop it any more.
process.on('disconnect', stop);
try {
  cluster = await starting;
} catch (error) {
  console.error(`The cluster could not be started: ${error.message}`);
  process.exit(1);
}
if (!stopping) {
  const { url, token, nodes } = cluster;
  console.log(
    JSON.stringify({
      url,
      token,
      nodes: nodes.map(({ url: own, pid, metricsUrl }) => ({ url: own, pid, metricsUrl })),
    }),
  );
}
