import { testHub } from '@muster/testkit'
import { afterAll, expect, it } from 'vitest'

const hub = await testHub()
afterAll(() => hub[Symbol.asyncDispose]())

it('S25: holds back the refusals of a person who keeps sending invalid inputs, and no valid call', async () => {
  const { owner, projectId } = await hub.fleet()
  const other = await hub.user()
  const refused = (person: typeof owner) =>
    person.invoke('projects_GetDetails', { projectId: 'no id' as never }).then(
      () => 'permitted',
      (error: Error) => error.message,
    )
  for (let sent = 0; sent < 1_000; sent += 100)
    await Promise.all(Array.from({ length: 100 }, () => refused(owner)))
  const answered: string[] = []
  const held = refused(owner).then(message => answered.push(message))
  await owner.invoke('projects_GetDetails', { projectId }).then(() => answered.push('valid call'))
  await refused(other).then(() => answered.push('refusal of another person'))
  await held
  expect(answered).toEqual(['valid call', 'refusal of another person', expect.stringContaining('projectId')])
})
