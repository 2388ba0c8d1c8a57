/** A command of the CLI `muster` with its description. Words in capitals are placeholders. */
export type CliCommand = { what: string; command: string }

/** Command that signs the CLI in to this hub. */
export function logInCommand(publicUrl: string): CliCommand {
  return { what: 'Log in, once', command: `muster login --hub ${publicUrl}` }
}

/** Command that creates a package. `repository` is the repository's public name or id. */
export function createPackageCommand(repository: string): CliCommand {
  return { what: 'Create a package', command: `muster packages create ${repository} PACKAGE` }
}

/** Command that creates a version of a package. `repository` is the repository's public name or id. */
export function createVersionCommand(repository: string, packageName = 'PACKAGE'): CliCommand {
  return {
    what: 'Create a version',
    command: `muster versions create ${repository}/${packageName} --tag TAG`,
  }
}

/** Command that uploads files into a version. `version` is a tag or the id of the version. */
export function uploadCommand(repository: string, packageName = 'PACKAGE', version = 'TAG'): CliCommand {
  return {
    what: 'Upload files',
    command: `muster assets upload ${repository}/${packageName}/${version} FILE`,
  }
}
