import type { NextApiRequest, NextApiResponse } from 'next';
import { getHub } from '../../hub';

export default async function orders(request: NextApiRequest, response: NextApiResponse): Promise<void> {
  if (request.method !== 'POST') {
    response.status(405).setHeader('Allow', 'POST').end();
    return;
  }
  const { id } = await getHub().emit('order.created', { item: 'teapot' });
  response.status(202).json({ id });
}
