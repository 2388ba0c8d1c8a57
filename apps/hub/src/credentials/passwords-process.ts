// The process that hashes passwords, forked by `passwords.ts`: each message is a task, each answer bears its number.
import { hash, type Options, verify } from '@node-rs/argon2'

/** A password to hash, or to compare with the hash it should have. */
export type PasswordTask = { password: string } & ({ parameters: Options } | { against: string })

/** The hash, or whether the password is the one. */
export type PasswordAnswer = { id: number; outcome: string | boolean } | { id: number; error: string }

process.on('message', (message: PasswordTask & { id: number }) => void answer(message))
process.on('disconnect', () => process.exit())

async function answer(task: PasswordTask & { id: number }): Promise<void> {
  // Who asked may be gone, which is told by the end of the channel.
  process.send!(await outcomeOf(task), () => {})
}

async function outcomeOf(task: PasswordTask & { id: number }): Promise<PasswordAnswer> {
  try {
    const { id, password } = task
    const outcome = await ('against' in task
      ? verify(task.against, password)
      : hash(password, task.parameters))
    return { id, outcome }
  } catch (error) {
    return { id: task.id, error: String(error) }
  }
}
