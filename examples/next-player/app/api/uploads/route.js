import { kinora } from '../../kinora.js';

/** POST /api/uploads: a URL to which the browser sends a file. Check here who may upload. */
export async function POST(request) {
  const upload = await kinora().video.uploads.create({
    cors_origin: new URL(request.url).origin,
    new_asset_settings: { playback_policies: ['public'] },
  });
  return Response.json({ id: upload.id, url: upload.url }, { status: 201 });
}
