import type { FastifyInstance } from 'fastify';

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Kinora</title>
<h1>Kinora is running</h1>
<p>This server stores videos and plays them.</p>
<ul>
<li><a href="/console">Console</a></li>
<li><a href="/docs">API reference</a>, and <a href="/openapi.json">for programs</a></li>
<li><code>POST /video/v1/assets</code> creates an asset (HTTP Basic with an access token)</li>
<li><code>GET /&lt;playback ID&gt;</code> plays it</li>
<li><a href="/readyz">Whether the server is ready</a></li>
</ul>
</html>
`;

const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="6" fill="#1f2937"/><path d="M12 9v14l11-7z" fill="#fff"/></svg>
`;

/** Search engines may index pages of public videos, but not the API and upload URLs. */
const ROBOTS = `User-agent: *
Disallow: /video/
Disallow: /system/
Disallow: /robots/
Disallow: /data/
Disallow: /u/
Disallow: /tus/
Disallow: /console/
`;

/** What browsers and crawlers request from every server. None of these names is a playback ID. */
export const welcomeRoutes = (app: FastifyInstance): void => {
  app.get('/', async ({ headers }, reply) => {
    reply.headers({ 'cache-control': 'no-store', vary: 'accept' });
    // Browsers name the type; programs such as curl accept anything.
    if (headers.accept?.includes('text/html')) return reply.redirect('/console', 302);
    return reply
      .headers({
        'content-security-policy': "default-src 'none'; img-src 'self'; base-uri 'none'; form-action 'none'",
        'x-content-type-options': 'nosniff',
      })
      .type('text/html; charset=utf-8')
      .send(PAGE);
  });
  app.get('/favicon.ico', async (_, reply) =>
    reply.header('cache-control', 'public, max-age=86400').type('image/svg+xml').send(ICON),
  );
  app.get('/robots.txt', async (_, reply) =>
    reply.header('cache-control', 'public, max-age=86400').type('text/plain; charset=utf-8').send(ROBOTS),
  );
};
