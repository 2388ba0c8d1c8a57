declare const styles: {
  readonly edge: string
  readonly path: string
}
export default styles
