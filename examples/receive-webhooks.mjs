// KINORA_WEBHOOK_URL=http://127.0.0.1:3000/ KINORA_WEBHOOK_SECRET=<secret>
// KINORA_ALLOW_PRIVATE_SOURCES=127.0.0.0/8 npm start KINORA_WEBHOOK_SECRET=<secret> node
// examples/receive-webhooks.mjs
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { mux, variable } from './kinora.mjs';

const secret = variable('KINORA_WEBHOOK_SECRET', 'KINORA_WEBHOOK_SECRET=<secret> node examples/receive-webhooks.mjs');
const server = createServer(async (request, response) => {
  try {
    // Throws when the signature is wrong or too old.
    const event = await mux.webhooks.unwrap(await text(request), request.headers, secret);
    console.log(event.type, event.object.id);
    response.writeHead(204).end();
  } catch (error) {
    console.error(error.message);
    response.writeHead(400).end();
  }
});
server.listen(Number(process.env.PORT ?? 3000), () => console.log(`Listening on port ${server.address().port}`));
