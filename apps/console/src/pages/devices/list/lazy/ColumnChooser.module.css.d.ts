declare const styles: {
  readonly chooser: string
  readonly columns: string
  readonly find: string
  readonly path: string
}
export default styles
