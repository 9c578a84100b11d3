/**
 * Loaded before any workflow: no stack is taken for each promise of workflow code; an error has one as anywhere else.
 *
 * The SDK asks for a stack with every promise that workflow code makes, by `new Error()` of the workflow's own global, and looks
 * each line of it up in the bundle's source map, for a query that shows where a workflow waits. That was a third of what
 * the workflows' thread did. It takes an answer without a stack for "there is none" (ADR 33). Workflow code itself makes no error
 * without a message.
 */

const ANSWER = Object.freeze({});

const ErrorWithMessage: ErrorConstructor = new Proxy(Error, {
  construct(target, args, newTarget) {
    // A class of its own with an empty message is made as ever: it is another target.
    if (args.length === 0 && newTarget === ErrorWithMessage) return ANSWER;
    return Reflect.construct(target, args, newTarget) as object;
  },
});

Reflect.set(globalThis, 'Error', ErrorWithMessage);
