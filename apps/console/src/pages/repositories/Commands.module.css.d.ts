declare const styles: {
  readonly commands: string
}
export default styles
