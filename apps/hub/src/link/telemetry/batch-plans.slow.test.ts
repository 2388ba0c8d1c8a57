import { connectDevice, testHub } from '@muster/testkit'
import { expect, it } from 'vitest'

it('a batch of thousands of properties is stored as fast the tenth time as the first', async () => {
  await using hub = await testHub()
  const { token } = await hub.fleet()
  await using device = await connectDevice({ url: hub.url, token })
  const { project_id: projectId, organization_id: organizationId } = await hub.db
    .selectFrom('device')
    .innerJoin('project', 'project.project_id', 'device.project_id')
    .where('device_id', '=', device.deviceId)
    .select(['device.project_id', 'organization_id'])
    .executeTakeFirstOrThrow()
  const caller = {
    actor: 'Device',
    deviceId: device.deviceId,
    tokenId: '',
    projectId,
    organizationId,
  } as const
  const tookMs: number[] = []
  for (let round = 0; round < 10; round++) {
    const from = performance.now()
    await Promise.all(
      Array.from({ length: 4_000 }, (_, at) =>
        hub.services.ingest.setProperty(caller, `key ${at}`, String(round)),
      ),
    )
    tookMs.push(performance.now() - from)
  }
  // With a plan cached for few rows, each of the last five measurements would take twenty times as long. Other load of the
  // machine slows down single measurements, so the fastest of the last five is compared.
  expect(Math.min(...tookMs.slice(5))).toBeLessThan(6 * Math.max(...tookMs.slice(0, 5)))
})
