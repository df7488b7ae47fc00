// KINORA_WEBHOOK_SECRET=<secret> node examples/express-receiver.mjs (needs: npm install express
// @mux/mux-node)
import express from 'express';
import { mux, variable } from './kinora.mjs';

const secret = variable('KINORA_WEBHOOK_SECRET', 'KINORA_WEBHOOK_SECRET=<secret> node examples/express-receiver.mjs');
const app = express();
/** Deliveries can arrive twice: remember in your database which events you have handled. */
const handled = new Set();

// The signature is of the bytes: nothing may parse the body before it is verified.
app.post('/hooks', express.text({ type: 'application/json', limit: '1mb' }), async (request, response) => {
  let event;
  try {
    event = await mux.webhooks.unwrap(request.body, request.headers, secret);
  } catch {
    response.status(400).send('The signature is wrong or too old.');
    return;
  }
  // Answer within five seconds and do slow work afterwards: otherwise the delivery is repeated.
  response.sendStatus(204);
  if (handled.has(event.id)) return;
  handled.add(event.id);
  if (event.type === 'video.asset.ready') console.log(`ready: ${event.data.playback_ids?.[0]?.id ?? event.object.id}`);
  if (event.type === 'video.asset.errored') console.log(`failed: ${event.object.id}`);
});

const server = app.listen(Number(process.env.PORT ?? 3000), () => {
  console.log(`Listening on port ${server.address().port}`);
});
