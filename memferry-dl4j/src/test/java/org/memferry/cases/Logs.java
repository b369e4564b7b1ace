package org.memferry.cases;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import org.slf4j.LoggerFactory;

import java.util.List;
import java.util.stream.Collectors;

/** What MemFerry logs between opening and closing this. */
final class Logs implements AutoCloseable {

    private final Logger logger = (Logger) LoggerFactory.getLogger("org.memferry");
    private final Level before = logger.getLevel();
    private final ListAppender<ILoggingEvent> appender = new ListAppender<>();

    Logs() {
        appender.start();
        logger.setLevel(Level.INFO);
        logger.addAppender(appender);
    }

    /** The messages of one level, in order. */
    List<String> at(Level level) {
        return appender.list.stream().filter(e -> e.getLevel() == level).map(ILoggingEvent::getFormattedMessage)
                .collect(Collectors.toList());
    }

    @Override
    public void close() {
        logger.detachAppender(appender);
        logger.setLevel(before);
    }
}
