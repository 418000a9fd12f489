/**
 * Returns the processor time of this process since `before`, in milliseconds. Unlike the time on a clock, it does not
 * depend on what else the machine has to do.
 */
export function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
