declare const styles: {
  readonly cause: string
}
export default styles
