declare const styles: {
  readonly versions: string
}
export default styles
