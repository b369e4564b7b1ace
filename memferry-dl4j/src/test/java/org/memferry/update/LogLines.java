package org.memferry.update;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import org.slf4j.LoggerFactory;

import java.util.List;
import java.util.stream.Collectors;

/** A logger of its own whose lines a test reads. */
final class LogLines implements AutoCloseable {

    private final Logger log = (Logger) LoggerFactory.getLogger("org.memferry.update.LogLines");
    private final ListAppender<ILoggingEvent> heard = new ListAppender<>();

    LogLines() {
        heard.start();
        log.setLevel(Level.INFO);
        log.addAppender(heard);
    }

    Logger log() {
        return log;
    }

    /** Level and message of each line since the last {@link #forget()}. */
    List<String> lines() {
        return heard.list.stream().map(e -> e.getLevel() + " " + e.getFormattedMessage()).collect(Collectors.toList());
    }

    void forget() {
        heard.list.clear();
    }

    @Override
    public void close() {
        log.detachAppender(heard);
    }
}
