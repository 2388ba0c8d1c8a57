/** A command of the command line `muster` with its description. Words in capitals are placeholders. */
export type CliCommand = { what: string; command: string }

/** Signs the command line in to this hub. */
export function logInCommand(publicUrl: string): CliCommand {
  return { what: 'Log in, once', command: `muster login --hub ${publicUrl}` }
}

/** Creates a package in a repository, given by its name in paths or its id. */
export function createPackageCommand(repository: string): CliCommand {
  return { what: 'Create a package', command: `muster packages create ${repository} PACKAGE` }
}

/** Creates a version of a package. */
export function createVersionCommand(repository: string, packageName = 'PACKAGE'): CliCommand {
  return {
    what: 'Create a version',
    command: `muster versions create ${repository}/${packageName} --tag TAG`,
  }
}

/** Uploads files into a version, given by a tag or its id. */
export function uploadCommand(repository: string, packageName = 'PACKAGE', version = 'TAG'): CliCommand {
  return {
    what: 'Upload files',
    command: `muster assets upload ${repository}/${packageName}/${version} FILE`,
  }
}
