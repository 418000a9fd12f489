import { PrismaPg } from '@prisma/adapter-pg';
import type { Hub } from 'hubline';
import { fromPrisma } from 'hubline/postgres';
import { type Orders, orderPlaced } from './orders.js';
import { PrismaClient } from './prisma/generated/client.js';

export function ordersWithPrisma(connectionString: string, hub: Pick<Hub, 'emit'>): Orders {
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString }) });
  return {
    async place(order) {
      await prisma.$transaction(async (tx) => {
        await tx.order.create({ data: order });
        await hub.emit(orderPlaced, order, { tx: fromPrisma(tx) });
      });
    },
    close: () => prisma.$disconnect(),
  };
}
